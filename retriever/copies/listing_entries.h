/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the listing of a directory of a copy said, entry by entry, as hashes of 64 bits: a file of
 * its own in the copy's .migrate/listed/, named after the directory's inode number.  8 bytes an
 * entry.  All of them go when the copy is attached.
 *
 * Nothing is believed because a file says it: it begins with the directory's attribute of that
 * listing, which holds the sums of the rest (listing_sum.c).  So it need not be durable, and may be
 * torn, old, or of another directory.
 */
#ifndef RETRIEVER_COPIES_LISTING_ENTRIES_H
#define RETRIEVER_COPIES_LISTING_ENTRIES_H

#include "retriever/objects/retriever.h"

#define LISTING_ENTRIES_DIR "listed"
#define LISTING_ENTRIES_MIN 16	      /* entries; of fewer there is no file, which takes a block */
#define LISTING_ENTRIES_MAX (1 << 20) /* entries; 8 MiB in memory */

struct listing_entries {
	GArray *entries; /* of uint64_t, sorted */
	GArray *names;	 /* likewise, of those that may not be whole yet */
};

GArray *listing_entries_array(void);
void listing_entries_sort(GArray *hashes);
bool listing_entries_has(const GArray *hashes, uint64_t hash);

/* There is none of the directory afterwards.  0, also where there was none, or -errno. */
int listing_entries_remove(const struct retriever *retriever, ino_t ino);
/* After listing_entries_remove().  Blocks for the disk.  0 or -errno. */
int listing_entries_store(const struct retriever *retriever, ino_t ino, const void *head,
			  size_t len, const struct listing_entries *listed);
/* FALSE: there is none of n entries that begins with head.  Else both are the caller's.  Blocks for
 * the disk. */
bool listing_entries_load(const struct retriever *retriever, ino_t ino, const void *head,
			  size_t len, uint64_t n, struct listing_entries *listed);

/* Removes all that a copy has left in the volume's .migrate/, until the retriever closes.  A job.
 */
void listing_entries_remove_all(void *retriever);

#endif
