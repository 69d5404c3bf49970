/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An ext4 that has found errors in itself, and goes on (errors=continue, which is its default).
 *
 * Then it may give one block to two files.  Where it cannot read the inode's block when it
 * allocates, it takes the allocation for failed and gives the blocks to others, but the inode in
 * memory keeps them (Linux 6.1, ext4_ext_map_blocks()).  To the file they are a hole.  When the
 * same range is written again, which is what is done with what was lost, the bytes go to these
 * blocks, and so do those of another file.  Nobody is told, no sync fails, and no hole is left.
 *
 * All that can be seen is that ext4 counts errors.  So nothing is written, made or taken for
 * durable from the first one on, until the file system was unmounted, checked by e2fsck, which sets
 * the number to 0, and mounted again.  What a client writes into files that are whole already is
 * not seen here: only errors=remount-ro protects that.
 */
#ifndef RETRIEVER_OBJECTS_DAMAGE_H
#define RETRIEVER_OBJECTS_DAMAGE_H

#include "retriever/objects/retriever.h"

#define DAMAGE_REASON                                                                              \
	"the new server's file system has found errors in itself: unmount it, run e2fsck -f and "  \
	"mount it again; its kernel's log says more"

/* Once root_fd is open. */
void damage_watch(struct retriever *retriever);
void damage_forget(struct retriever *retriever);

/* Whether there are errors that were not repaired.  One pread() of sysfs; any thread, under any
 * lock.  Says so in the log when it is found first.  False where it cannot be known. */
bool damage_found(struct retriever *retriever);

#endif
