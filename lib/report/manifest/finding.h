/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that a comparison of both sides leaves in PROOF_DIR: in the volume's .migrate/, or,
 * when the volume has no .migrate/ any more, beside the report that is kept.
 *
 * run a key file: [run] number, began, ended (seconds since 1970; 0: it has not ended), sample (of
 * 100000 files), seed, told-by (journal or times: by what it was known which objects clients
 * changed), objects, bytes (compared), files-read, files-cached (those of them that were read
 * through the page cache), findings, and for every status, by the name of proof_status_name(), how
 * many objects have it entries one line for each object (entry.h), in no order, each path once; and
 * lines that begin with "#", which mtree takes for comments: a finding's line after "#finding" and
 * a blank; other such lines are for the comparison itself
 *
 * A finding is a difference, or the reason why one side could not be read.  Its line:
 *
 *   ./a/b\040c kind=content since=1700000000 text=byte\0404096\040of\0405000
 *
 * since: from when on it was so, in seconds since 1970, as far as the file system tells, or 0.
 */
#ifndef LIB_REPORT_MANIFEST_FINDING_H
#define LIB_REPORT_MANIFEST_FINDING_H

#include "lib/report/manifest/entry.h"

#define PROOF_DIR     "proof"
#define PROOF_NEXT    "next-" /* before the names of the files that a run under way writes */
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
