/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a manifest says of one object: a line in the format of mtree(5), version 2.0 ("mtree -C"),
 * that bsdtar and mtree can read:
 *
 *   ./a/b\040c type=file mode=0644 uid=0 gid=0 size=12 time=1700000000.000000000 nlink=1
 *       sha256digest=... tags=same                                   (all on one line)
 *
 * Names stand as vis(3) writes them with VIS_OCTAL: what is not printable ASCII, blanks and "#*=?[\
 * are \ooo.  So a line sorts as its bytes do, and the root is ".".  Keywords are written in the
 * order above; `link` (of a symbolic link) and `device` (linux,MAJOR,MINOR) stand before `nlink`.
 */
#ifndef LIB_REPORT_MANIFEST_ENTRY_H
#define LIB_REPORT_MANIFEST_ENTRY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/report/manifest/hash.h"

#define PROOF_PATH_MAX 65536 /* bytes of a path, and of a link's target */
#define PROOF_LINE_MAX (8 * PROOF_PATH_MAX + 1024)

/* Every object of the old tree, and every object that only the new tree has, has one of these. */
enum proof_status {
	PROOF_SAME,	   /* content, and all that is carried over */
	PROOF_NOT_SAMPLED, /* name, type, size and mtime are the same; the rest was not read */
	PROOF_LOST,	   /* equal apart from what cannot be carried over (the fidelity report) */
	PROOF_CHANGED,	   /* clients changed it since the switch; the entry is the new side's */
	PROOF_MADE,	   /* clients made it, or gave it this name: the old server has none */
	PROOF_REMOVED,	   /* clients removed or renamed it; the entry is the old server's */
	PROOF_SKIPPED,	   /* it cannot be here, or the administrator skipped it */
	PROOF_UNFINISHED,  /* not here yet, or not all of it */
	PROOF_DIFFERENT,   /* a finding says what */
	PROOF_FAILED,	   /* one side could not be read; a finding says why */
	PROOF_STATUS_COUNT,
};

struct proof_entry {
	char *path;  /* below the root, "" for the root; g_malloc'd */
	mode_t mode; /* type and permission bits */
	uint32_t uid, gid;
	uint64_t size; /* bytes */
	int64_t mtime; /* ns */
	dev_t rdev;    /* of a device */
	char *link;    /* of a symbolic link, else NULL; g_malloc'd */
	uint32_t nlink;
	char sha256[PROOF_HASH_HEX + 1]; /* "": not known */
	enum proof_status status;
};

void proof_entry_clear(struct proof_entry *entry);

/* The value of `tags`: "same", "not-sampled", "lost-attributes", "changed-by-clients",
 * "made-by-clients", "removed-by-clients", "given-up", "unfinished", "different", "failed". */
const char *proof_status_name(enum proof_status status);
bool proof_status_parse(const char *text, enum proof_status *status);

/* Appends the line with its newline. */
void proof_entry_format(GString *out, const struct proof_entry *entry);

/*
 * Parses a line (len bytes, without the newline), which may come from anywhere.  FALSE, and entry
 * is empty: it is not such a line; it has an unknown keyword, a keyword twice or not at all, a path
 * that leads out of the root, or a name that is not escaped as above.  So a line that is parsed and
 * formatted again stays the same.
 */
bool proof_entry_parse(const char *line, size_t len, struct proof_entry *entry);

/* Appends text, escaped as names in a line are. */
void proof_escape(GString *out, const char *text);
/* The other way round.  g_free.  NULL: not what proof_escape() writes. */
char *proof_unescape(const char *text, size_t len);
/* Appends a path below the root as lines begin with it. */
void proof_path_format(GString *out, const char *path);
/* The other way round.  g_free.  NULL: not such a path, or it has empty names, "." or "..". */
char *proof_path_parse(const char *text);
/* The word that follows "KEY=" at *rest, cut off at the blank behind it; *rest then stands behind
 * that blank, or is NULL at the line's end.  NULL: *rest begins with something else. */
char *proof_word(char **rest, const char *key);

#endif
