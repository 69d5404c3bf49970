/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes fetched bytes to a file and leaves blocks that are all zeros as holes.
 *
 * A file system can drop bytes that it accepted, and sync() reports no error then: ext4 allocates
 * blocks late, and where that fails it drops the pages.  A hole is left that no client made.
 */
#ifndef RETRIEVER_OBJECTS_SPARSE_H
#define RETRIEVER_OBJECTS_SPARSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/extents.h"

/*
 * Writes len bytes at offset.  Aligned 4 KiB blocks of zeros (and a tail of zeros) are not written
 * where the file has a hole; where it has data they are written.  They are added to *zeros, an
 * initialised set, as parts that need no blocks.  NULL: everything is written.  Blocks for the
 * disk.  0 or -errno.
 */
int sparse_pwrite(int fd, const uint8_t *data, size_t len, uint64_t offset,
		  struct migrate_extents *zeros);
/* The same where these bytes may be in the file already: then they are not written again.  1: the
 * file had other bytes. */
int sparse_correct(int fd, const uint8_t *data, size_t len, uint64_t offset,
		   struct migrate_extents *zeros);

/* Whether there are holes in what was written of [start, end), as far as the file goes. */
bool sparse_has_hole(int fd, uint64_t start, uint64_t end);

#endif
