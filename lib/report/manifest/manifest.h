/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a manifest: entries (entry.h) in the order of their escaped paths, byte by byte, each path
 * once; compressed by zstd (RFC 8878) as one frame with a checksum.  Other tools can read it: "zstd
 * -dc FILE | bsdtar -tf -", mtree(8).  Lines that begin with "#" are comments: the first is
 * MANIFEST_MAGIC, the last MANIFEST_END and the number of entries.  The file may come from
 * anywhere: reading any file takes about 20 MB of memory.
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
	uint64_t bytes;	 /* of files; a file with several names counts once for each */
	uint64_t hashed; /* with a hash */
	uint64_t status[PROOF_STATUS_COUNT];
};

void manifest_count_add(struct manifest_count *count, const struct proof_entry *entry);

/* Compares two lines, or beginnings of lines, in the order of a manifest: <0, 0, >0. */
int manifest_order(const char *line, const char *other);

#define MANIFEST_ERROR (g_quark_from_static_string("quickmigrate-manifest"))

struct manifest;

/* Takes over fd.  NULL with error set. */
struct manifest *manifest_open(int fd, GError **error);
/*
 * The next entry, valid until the next call.  NULL at the end: then the whole manifest was as
 * described above.  NULL with error set: the file is damaged, cut off, or no manifest; the message
 * says where.
 */
const struct proof_entry *manifest_next(struct manifest *manifest, GError **error);
/* The line of the entry that came last, without its newline. */
const char *manifest_line(const struct manifest *manifest);
/* The counts of the entries so far. */
const struct manifest_count *manifest_counted(const struct manifest *manifest);
void manifest_close(struct manifest *manifest);

#endif
