/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of the old server's objects could not be carried over (the fidelity report), one line each,
 * in .migrate/report: nothing is dropped silently.
 *
 * A line is appended before the object becomes visible, so that a kill cannot part them: at worst a
 * line stands there for an object that was made a moment later (or for a name that was given up,
 * and its directory was not filled), or twice.  The file may grow to millions of lines and is never
 * held in memory; of the last few hundred thousand a hash is, so that an object that is made again
 * is not listed again.
 *
 * Line: KIND TAB PATH TAB TEXT, where control characters, backslashes and, in what is not UTF-8,
 * bytes beyond ASCII are escaped as in C.  The path is that on the new server when it was made.
 * `volume` lines have an empty path.  In the file that is kept after the volume's end, lines of the
 * kind `carried` with "acls" or "xattrs" for a path count the objects that got some.  Any thread.
 */
#ifndef LIB_REPORT_LOSSES_H
#define LIB_REPORT_LOSSES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define REPORT_FILE "report"

enum report_kind {
	REPORT_ACL,    /* an ACL that the new file system, or the owner map, does not take */
	REPORT_XATTR,  /* an extended attribute that has no place here */
	REPORT_SOURCE, /* what the old server has and cannot hand over */
	REPORT_OWNER,  /* an owner or group that is not a usable id, or not its own */
	REPORT_MODE,   /* the mode is not the one that was listed */
	REPORT_TIME,   /* a time that the new file system cannot store */
	REPORT_LINK,   /* a name that is no other name of the same file any more */
	REPORT_NAME,   /* a name that the administrator gave up (skip.h) */
	REPORT_VOLUME, /* what no object comes with */
	REPORT_KINDS
};

const char *report_kind_name(enum report_kind kind);

struct report;

struct report *report_new(int private_fd);
void report_free(struct report *report);
/* .migrate/ was made, or is about to be removed (-1): blocks for the disk. */
void report_set_directory(struct report *report, int private_fd);

/* 0 or -errno: then the object must not be made. */
int report_add(struct report *report, enum report_kind kind, const char *path, const char *text);
/* Lines of objects there are. */
uint64_t report_count(struct report *report);
/* Those of them that are REPORT_NAME. */
uint64_t report_names(struct report *report);
/* What was added is durable after.  Blocks for the disk.  0 or -errno: then it may not be. */
int report_sync(struct report *report);

/*
 * For after the volume's end: head, which is whole lines, and all lines so far as the file path,
 * replaced as a whole and durable; its directory is made where it is not there.  0 or -errno.
 */
int report_keep(struct report *report, const char *path, const char *head);

/* A path or a text as a field of a line; g_strcompress() undoes it.  g_free. */
char *report_escape(const char *text);

struct report_line {
	enum report_kind kind;
	char *path, *text; /* g_free */
};

/* FALSE: not a line of a report. */
bool report_parse(const char *line, struct report_line *out);
void report_line_clear(struct report_line *line);

#endif
