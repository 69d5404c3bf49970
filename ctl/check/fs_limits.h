/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file system can hold of one object. */
#ifndef CTL_CHECK_FS_LIMITS_H
#define CTL_CHECK_FS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "retriever/making/attributes.h"

struct limits {
	const char *name; /* "ext4"; NULL: not known, and nothing is too much */
	uint64_t size;	  /* of a file, bytes */
	uint32_t links;	  /* names of a file */
	uint32_t symlink; /* bytes of a symbolic link's text */
	struct attributes_room attributes;
	bool fixed_inodes; /* their number is that of mkfs */
};

/* type: as of statfs(2).  ea_inode, inode_size: of ext4, 0: not known. */
struct limits limits_of(long type, uint32_t block, bool ea_inode, uint32_t inode_size);

#endif
