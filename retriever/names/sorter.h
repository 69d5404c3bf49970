/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorts many small entries by a number, with little memory.
 *
 * An old server with disks and cold caches needs a seek for each object if it is asked in the order
 * of the listing (ext4: the order of a hash), and nearly no seek in the order of fileids, which is
 * the order of inodes and mostly of their data.  Measured, 300,000 files in one directory, 40,000
 * of them read by 32 threads: 40,459 reads of the disk in directory order, 8,363 in windows of
 * 65,536 files that are each in order, 79 with the whole directory in order.  So as many entries as
 * possible must be sorted together: memory holds 16 bytes for each entry, and a file without a name
 * in .migrate/staging/ holds the entry's bytes.  That file takes at most a sixteenth of the free
 * space, because the listing that is kept in it may have no end.
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

/* Adds a copy of the bytes.  FALSE: there is no room, on disk or in memory; take the entries out
 * first. */
bool sorter_add(struct sorter *sorter, uint64_t key, const void *bytes, uint32_t len);
/* Whether the next one may be too many. */
bool sorter_full(const struct sorter *sorter);
guint sorter_count(const struct sorter *sorter);

/*
 * Takes out the entry with the lowest key; entries with the same key come in the order in which
 * they were added.  No entry may be added before the last one was taken out.  Returns the number of
 * bytes, which are valid until the next call; 0: no entry is left; -errno: the entries that are
 * left are lost, and forgotten.
 */
int sorter_take(struct sorter *sorter, const void **bytes);
void sorter_forget(struct sorter *sorter);

#endif
