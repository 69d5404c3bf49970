/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a comparison of both sides leaves on disk, in PROOF_DIR: in the volume's .migrate/, or
 * beside the report that is kept when the volume has none any more.
 *
 *   run       a key file: [run] number, began, ended (seconds since 1970; 0: it is not through),
 *             sample (of 100000 files), seed, told-by (journal or times: how it was known what
 *             clients changed), objects, bytes (compared), files-read, files-cached (of those: not
 *             past the page cache), findings, and of every status its number by the name of
 *             proof_status_name()
 *   entries   one line for each object (entry.h), in no order, of each path one; and lines that
 *             begin with "#", which mtree takes for comments: "#finding" and a blank before a
 *             finding's line, others are the comparison's own
 *
 * A finding is a difference, or what kept one side from being read.  Its line:
 *
 *   ./a/b\040c kind=content since=1700000000 text=byte\0404096\040of\0405000
 *
 * since: seconds since 1970 when it was first as it is, as far as the file system tells, or 0.
 */
#ifndef LIB_REPORT_MANIFEST_FINDING_H
#define LIB_REPORT_MANIFEST_FINDING_H

#include "lib/report/manifest/entry.h"

#define PROOF_DIR     "proof"
#define PROOF_NEXT    "next-" /* before the names of what a run under way writes */
#define PROOF_RUN     "run"
#define PROOF_ENTRIES "entries"
#define PROOF_MARK    "#finding "

enum proof_kind {
	PROOF_CONTENT,	  /* bytes, the size, a link's target, a device's numbers */
	PROOF_TYPE,	  /* a file there, a directory here ... */
	PROOF_ATTRIBUTES, /* owner, mode, mtime */
	PROOF_XATTRS,	  /* extended attributes, ACLs, descriptors, streams */
	PROOF_LINKS,	  /* names that are one object on one side only */
	PROOF_MISSING,	  /* the old server's name is not here */
	PROOF_SPELLING,	  /* it is here in another spelling */
	PROOF_EXTRA,	  /* not on the old server */
	PROOF_UNREAD,	  /* it could not be looked at */
	PROOF_KIND_COUNT,
};

struct proof_finding {
	char *path; /* below the root, "" for the root; g_malloc'd */
	enum proof_kind kind;
	int64_t since; /* s */
	char *text;    /* what and where, one phrase; g_malloc'd */
};

void proof_finding_clear(struct proof_finding *finding);

/* "content", "type", "attributes", "xattrs", "links", "missing", "spelling", "extra", "unread". */
const char *proof_kind_name(enum proof_kind kind);
/* What the administrator can do about it: a phrase, where NAME stands for the volume. */
const char *proof_kind_remedy(enum proof_kind kind);

/* Appends the line with its newline, without PROOF_MARK. */
void proof_finding_format(GString *out, const struct proof_finding *finding);
/* As proof_entry_parse(). */
bool proof_finding_parse(const char *line, size_t len, struct proof_finding *finding);

#endif
