/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps the last listing of each directory of a copy, entry by entry, as hashes of 64 bits.  Each
 * directory has a file in the copy's .migrate/listed/, named after the directory's inode number,
 * with 8 bytes for an entry.  All these files are removed when the copy is attached.
 *
 * The file alone is not trusted: it begins with the directory's attribute of that listing, which
 * holds the sums of the rest (listing_sum.c).  So the file need not be durable, and may be torn,
 * old, or of another directory.
 */
#ifndef RETRIEVER_COPIES_LISTING_ENTRIES_H
#define RETRIEVER_COPIES_LISTING_ENTRIES_H

#include "retriever/objects/retriever.h"

#define LISTING_ENTRIES_DIR "listed"
#define LISTING_ENTRIES_MIN 16	      /* entries; of fewer there is no file, which takes a block */
#define LISTING_ENTRIES_MAX (1 << 20) /* entries; 8 MiB in memory */

struct listing_entries {
	GArray *entries; /* of uint64_t, sorted */
	GArray *names;	 /* of uint64_t, sorted: of files that may not be whole yet */
};

GArray *listing_entries_array(void);
void listing_entries_sort(GArray *hashes);
bool listing_entries_has(const GArray *hashes, uint64_t hash);

/* Removes the directory's file.  0, also where there was no file, or -errno. */
int listing_entries_remove(const struct retriever *retriever, ino_t ino);
/* After listing_entries_remove().  Blocks for the disk.  0 or -errno. */
int listing_entries_store(const struct retriever *retriever, ino_t ino, const void *head,
			  size_t len, const struct listing_entries *listed);
/* Loads the directory's file into *listed.  FALSE: it has no file of n entries that begins with
 * head.  Else the caller frees both arrays.  Blocks for the disk. */
bool listing_entries_load(const struct retriever *retriever, ino_t ino, const void *head,
			  size_t len, uint64_t n, struct listing_entries *listed);

/* Removes all such files that a copy has left in the volume's .migrate/; stops when the retriever
 * closes.  A job. */
void listing_entries_remove_all(void *retriever);

#endif
