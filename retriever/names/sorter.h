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
#ifndef RETRIEVER_NAMES_SORTER_H
#define RETRIEVER_NAMES_SORTER_H

#include "retriever/objects/retriever.h"

#define SORTER_MAX	 (1 << 20) /* entries of the volume that wait in memory: 16 MiB */
#define SORTER_ENTRY_MAX 4096	   /* bytes */

struct sorter;

struct sorter *sorter_new(struct retriever *retriever);
void sorter_free(struct sorter *sorter);

/* Copies the bytes.  FALSE: there is no room, on disk or in memory; take out what is in first. */
bool sorter_add(struct sorter *sorter, uint64_t key, const void *bytes, uint32_t len);
/* Whether the next one may be too many. */
bool sorter_full(const struct sorter *sorter);
guint sorter_count(const struct sorter *sorter);

/*
 * Takes out the entry with the lowest key; of those with the same, in the order in which they came.
 * After the last one it may be filled again, and not before.  The bytes are valid until the next
 * call; their number, 0: none is left, or -errno: what is left is lost, and forgotten.
 */
int sorter_take(struct sorter *sorter, const void **bytes);
void sorter_forget(struct sorter *sorter);

#endif
