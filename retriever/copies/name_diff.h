/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the names in a directory here with the names that the old server lists (I13).  Names are
 * compared by their bytes, as hashes of 64 bits (listing_sum_hash()), and no object is opened.  If
 * two names have the same hash, a difference is not seen.
 */
#ifndef RETRIEVER_COPIES_NAME_DIFF_H
#define RETRIEVER_COPIES_NAME_DIFF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct name_diff {
	GPtrArray *unlisted; /* char *: they are here alone */
	GArray *lacking;     /* hashes, sorted: they are listed alone */
};

/*
 * listed: hashes, sorted, each once.  root: the directory is the volume's root, whose .migrate/
 * does not count.  Blocks for the disk.  0, and the caller clears *diff; or -errno.
 */
int name_diff_make(int dir_fd, bool root, const GArray *listed, struct name_diff *diff);
void name_diff_clear(struct name_diff *diff);

/* A sum over each name here and its inode number, which does not depend on their order.  Blocks for
 * the disk.  0 or -errno. */
int name_diff_sum(int dir_fd, bool root, uint64_t *sum);
/* What one name adds to that sum; the root's lost+found adds nothing, because e2fsck(8) makes it
 * anew. */
uint64_t name_diff_part(bool root, const char *name, uint64_t inode);

/* Sorts an array of hashes, leaves each hash in it once, and removes the hashes that are in
 * `without`. */
void name_diff_sort(GArray *hashes, const GArray *without);

#endif
