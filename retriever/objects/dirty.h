/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What clients wrote and an earlier retriever, or an earlier descriptor of this one, has not made
 * durable.  The kernel tells a write-back that failed to the descriptors that were open then, and
 * takes the pages for written: the next fdatasync of a new descriptor says nothing of them.  So
 * what is still in the page cache is to be written once more, and the descriptor will be told of
 * that.  What the kernel has dropped is a hole, and lost; but for files in which clients make holes
 * (MIGRATE_REC_HOLES): there it passes for one of theirs.
 */
#ifndef RETRIEVER_OBJECTS_DIRTY_H
#define RETRIEVER_OBJECTS_DIRTY_H

#include "common/record.h"

/* fd: O_RDWR.  Marks what is there of these ranges as not written, and adds to *lost what is not.
 * 0 or -errno. */
int dirty_write_again(int fd, const struct migrate_extents *dirty, struct migrate_extents *lost);

#endif
