/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names in a directory here beside those that the old server lists (I13).  Names are compared
 * byte by byte, by hashes of 64 bits (listing_sum_hash()), and no object is opened.  Two names of
 * one hash leave a difference unseen.
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

/* Over each name here and the number of its inode, in any order.  Blocks for the disk.  0, -errno.
 */
int name_diff_sum(int dir_fd, bool root, uint64_t *sum);
/* What one name adds to that sum: nothing the root's lost+found, which e2fsck(8) makes anew. */
uint64_t name_diff_part(bool root, const char *name, uint64_t inode);

/* Sorts an array of hashes and leaves each in it once, but none that is in `without`. */
void name_diff_sort(GArray *hashes, const GArray *without);

#endif
