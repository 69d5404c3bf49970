/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detects an ext4 that has found errors in itself and stays in use (errors=continue, its default).
 *
 * Such an ext4 may give one block to two files.  If ext4 cannot read the inode's block while it
 * allocates, it treats the allocation as failed and gives the blocks to other files, but the inode
 * in memory keeps them (Linux 6.1, ext4_ext_map_blocks()).  The file shows these blocks as a hole.
 * When the retriever writes the range again, as it does with every range that was lost, the bytes
 * go to these blocks, and the bytes of another file go there too.  No caller gets an error, no sync
 * fails, and no hole is left.
 *
 * The only sign is the number of errors that ext4 counts.  From the first error on the retriever
 * writes nothing, makes nothing and takes nothing for durable, until the file system was unmounted,
 * checked by e2fsck, which sets the number to 0, and mounted again.  The retriever does not see
 * what a client writes into files that are whole already: only errors=remount-ro protects those.
 */
#ifndef RETRIEVER_OBJECTS_DAMAGE_H
#define RETRIEVER_OBJECTS_DAMAGE_H

#include "retriever/objects/retriever.h"

/* Once root_fd is open. */
void damage_watch(struct retriever *retriever);
void damage_forget(struct retriever *retriever);

/* Whether the file system has errors that were not repaired.  One pread() of sysfs; any thread,
 * under any lock.  The first time that it finds errors it logs them.  False where the number cannot
 * be read. */
bool damage_found(struct retriever *retriever);

#endif
