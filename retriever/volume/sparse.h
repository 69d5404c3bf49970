/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing what was fetched, leaving its all-zero blocks as holes. */
#ifndef SPARSE_H
#define SPARSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Writes len bytes at offset.  Aligned 4 KiB blocks of zeros (and a tail of zeros) are not written
 * where the file has a hole; where it has data they are written.  Blocks for the disk.
 * 0 or -errno.
 */
int sparse_pwrite(int fd, const uint8_t *data, size_t len, uint64_t offset);

#endif
