/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of losses, .migrate/report: it has a line for each attribute or name that an object has
 * on the old server and that its copy on the new server does not have.
 *
 * A line is written before clients can see its object, so a crash leaves no object without its
 * lines.  A crash may leave a line whose object is made later, or a line that stands there twice.
 * The file may grow to millions of lines and is never held in memory.  Hashes of the last few
 * hundred thousand lines are held, so that the lines of an object that is made again are not
 * written again.
 *
 * A line is taken back in place: its kind is overwritten, so that readers may go on where they
 * were.
 *
 * Line: KIND TAB PATH TAB TEXT, where control characters, backslashes and, in what is not UTF-8,
 * bytes beyond ASCII are escaped as in C.  The path is that on the new server when it was made.
 * `volume` lines have an empty path.  In the file that is kept after the volume's end, lines of the
 * kind `carried`, with "acls" or "xattrs" for a path, count the objects that got such attributes.
 * Any thread.
 */
#ifndef LIB_REPORT_LOSSES_H
#define LIB_REPORT_LOSSES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define LOSSES_FILE "report"

enum loss_kind {
	LOSS_ACL,    /* an ACL that the new file system, or the owner map, does not take */
	LOSS_XATTR,  /* an extended attribute that has no place here */
	LOSS_SOURCE, /* what the old server has and cannot hand over */
	LOSS_OWNER,  /* an owner or group that is not a usable id, or not its own */
	LOSS_MODE,   /* the mode is not the one that was listed */
	LOSS_TIME,   /* a time that the new file system cannot store */
	LOSS_LINK,   /* a name that is no other name of the same file any more */
	LOSS_NAME,   /* a name that the administrator skipped (skip.h) */
	/* it is under retention there */
	LOSS_RETENTION,
	LOSS_RULE,   /* an object that a rule leaves out (rules.h), which is no loss */
	LOSS_VOLUME, /* a loss of the volume, not of an object */
	LOSS_KINDS
};

/* In place of "rule" in a line that was taken back. */
#define LOSS_RETRACTED "came"

const char *loss_kind_name(enum loss_kind kind);

struct losses;

struct losses *losses_new(int private_fd);
void losses_free(struct losses *losses);
/* To be called when .migrate/ was made, or (-1) is about to be removed.  Blocks for the disk. */
void losses_set_directory(struct losses *losses, int private_fd);

/* 0 or -errno: then the object must not be made. */
int losses_add(struct losses *losses, enum loss_kind kind, const char *path, const char *text);
/*
 * Takes lines back: of each that is in the set, KIND becomes "came", which nobody reads as a line
 * of a report, so that the object may be added again.  lines: keys as of losses_line().  Reads the
 * whole file and blocks for the disk.  0: that is durable; or -errno: some may still be there.
 */
int losses_retract(struct losses *losses, GHashTable *lines);
/* The line that losses_add() writes, without its end.  g_free. */
char *losses_line(enum loss_kind kind, const char *path, const char *text);
/* The number of lines about objects, without those of LOSS_RULE. */
uint64_t losses_count(struct losses *losses);
/* Those of them that are LOSS_NAME. */
uint64_t losses_names(struct losses *losses);
/* The number of lines of LOSS_RULE. */
uint64_t losses_rules(struct losses *losses);
/* Makes what was added durable.  Blocks for the disk.  0 or -errno: then it may not be durable. */
int losses_sync(struct losses *losses);

/*
 * Keeps the report after the volume's end: writes head, which is whole lines, and all lines so far
 * to the file path, which is replaced as a whole and durable; its directory is made if it is not
 * there.  0 or -errno.
 */
int losses_keep(struct losses *losses, const char *path, const char *head);

/* A path or a text as a field of a line; g_strcompress() undoes it.  g_free. */
char *loss_escape(const char *text);

struct loss_line {
	enum loss_kind kind;
	char *path, *text; /* g_free */
};

/* FALSE: not a line of a report. */
bool loss_parse(const char *line, struct loss_line *out);
void loss_line_clear(struct loss_line *line);

#endif
