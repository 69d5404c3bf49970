/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A manifest, as a stream: entries (entry.h) in the order of their paths as they are written, byte
 * by byte, each path once; compressed by zstd (RFC 8878) as one frame with a checksum, that tools
 * can read: "zstd -dc FILE | bsdtar -tf -", mtree(8).  Lines that begin with "#" are comments: the
 * first is MANIFEST_MAGIC, the last MANIFEST_END and the number of entries.  It may come from
 * anywhere; whatever it is, reading it takes about 20 MB of memory.
 */
#ifndef LIB_REPORT_MANIFEST_MANIFEST_H
#define LIB_REPORT_MANIFEST_MANIFEST_H

#include "lib/report/manifest/entry.h"

#define MANIFEST_MAGIC	    "#mtree v2.0"
#define MANIFEST_END	    "# end, entries: "
#define MANIFEST_WINDOW_LOG 23 /* of zstd: 8 MiB */

/* What is in a manifest. */
struct manifest_count {
	uint64_t entries, directories, files, links, others;
	uint64_t bytes;	 /* of files; of each of its names, where one has several */
	uint64_t hashed; /* with a hash */
	uint64_t status[PROOF_STATUS_COUNT];
};

void manifest_count_add(struct manifest_count *count, const struct proof_entry *entry);

/* <0, 0, >0: in the order of a manifest.  Lines, or what they begin with. */
int manifest_order(const char *line, const char *other);

#define MANIFEST_ERROR (g_quark_from_static_string("quickmigrate-manifest"))

struct manifest;

/* fd is its own from then on.  NULL with error set. */
struct manifest *manifest_open(int fd, GError **error);
/*
 * The next entry, until the next call.  NULL at the end: then all was as above.  NULL with error
 * set: damaged, cut off, or none; the message says where.
 */
const struct proof_entry *manifest_next(struct manifest *manifest, GError **error);
/* Of the entry that came last: its line, without its newline. */
const char *manifest_line(const struct manifest *manifest);
/* Of the entries so far. */
const struct manifest_count *manifest_counted(const struct manifest *manifest);
void manifest_close(struct manifest *manifest);

#endif
