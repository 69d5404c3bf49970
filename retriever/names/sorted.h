/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts many small things into the order of a number, with little memory.
 *
 * An old server of disks, with cold caches, needs a seek for each object that it is asked about in
 * the order of names (ext4: a hash's), and next to none in the order of fileids, which is that of
 * inodes and, mostly, of their data.  Measured, 300,000 files in one directory, 40,000 of them read
 * by 32 threads: 40,459 reads of the disk in directory order, 8,363 in windows of 65,536 files that
 * are each in order, 79 with the whole directory in order.  So windows must be large: memory holds
 * 16 bytes for each entry, its bytes are in a file without a name in .migrate/staging/.  It takes a
 * sixteenth of the free space at most: the listing that is kept in it may have no end.
 *
 * Not locked: one thread at a time.
 */
#ifndef RETRIEVER_NAMES_SORTED_H
#define RETRIEVER_NAMES_SORTED_H

#include "retriever/objects/retriever.h"

#define SORTED_MAX	 (1 << 20) /* entries of the volume that wait in memory: 16 MiB */
#define SORTED_ENTRY_MAX 4096	   /* bytes */

struct sorted;

struct sorted *sorted_new(struct retriever *retriever);
void sorted_free(struct sorted *sorted);

/* Copies the bytes.  FALSE: there is no room, on disk or in memory; take out what is in first. */
bool sorted_add(struct sorted *sorted, uint64_t key, const void *bytes, uint32_t len);
/* Whether the next one may be too many. */
bool sorted_full(const struct sorted *sorted);
guint sorted_count(const struct sorted *sorted);

/*
 * Takes out the entry with the lowest key; of those with the same, in the order in which they came.
 * After the last one it may be filled again, and not before.  The bytes are valid until the next
 * call; their number, 0: none is left, or -errno: what is left is lost, and forgotten.
 */
int sorted_take(struct sorted *sorted, const void **bytes);
void sorted_forget(struct sorted *sorted);

#endif
