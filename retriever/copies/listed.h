/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the listing of a directory of a copy said, entry by entry, as hashes of 64 bits: a file of
 * its own in the copy's .migrate/listed/, named after the directory's inode number.  8 bytes an
 * entry.  All of them go when the copy is attached.
 *
 * Nothing is believed because a file says it: it begins with the directory's attribute of that
 * listing, which holds the sums of the rest (stat_cache.c).  So it need not be durable, and may be
 * torn, old, or of another directory.
 */
#ifndef RETRIEVER_COPIES_LISTED_H
#define RETRIEVER_COPIES_LISTED_H

#include "retriever/objects/retriever.h"

#define LISTED_DIR "listed"
#define LISTED_MIN 16	     /* entries; of fewer there is no file, which takes a block */
#define LISTED_MAX (1 << 20) /* entries; 8 MiB in memory */

struct listed {
	GArray *entries; /* of uint64_t, sorted */
	GArray *names;	 /* likewise, of those that may not be whole yet */
};

GArray *listed_array(void);
void listed_sort(GArray *hashes);
bool listed_has(const GArray *hashes, uint64_t hash);

/* There is none of the directory afterwards.  0, also where there was none, or -errno. */
int listed_remove(const struct retriever *retriever, ino_t ino);
/* After listed_remove().  Blocks for the disk.  0 or -errno. */
int listed_store(const struct retriever *retriever, ino_t ino, const void *head, size_t len,
		 const struct listed *listed);
/* FALSE: there is none of n entries that begins with head.  Else both are the caller's.  Blocks for
 * the disk. */
bool listed_load(const struct retriever *retriever, ino_t ino, const void *head, size_t len,
		 uint64_t n, struct listed *listed);

/* Removes all that a copy has left in the volume's .migrate/, until the retriever closes.  A job.
 */
void listed_remove_all(void *retriever);

#endif
