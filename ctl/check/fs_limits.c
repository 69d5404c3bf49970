/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/fs_limits.h"

#include <linux/magic.h>
#include <stdint.h>

#define EXT4_BLOCKS UINT64_C(0xffffffff) /* of a file: their numbers have 32 bits */
#define BLOCK_HEAD  32			 /* of a block of extended attributes */

/* The last second since 1970 that ext4's larger inodes keep: they have two bits more, and fractions
 * (fs/ext4/ext4.h). */
#define EXT4_LAST (((int64_t)1 << 34) - 1 + INT32_MIN)
#define NS_LAST	  (INT64_MAX / 1000000000)

struct limits limits_of(long type, uint32_t block, bool ea_inode, uint32_t inode_size)
{
	switch (type) {
	case EXT4_SUPER_MAGIC:
		return (struct limits){.name = "ext4",
				       .size = EXT4_BLOCKS * block,
				       .links = 65000,
				       .symlink = block - 1,
				       .attributes.together = ea_inode ? 0 : block - BLOCK_HEAD,
				       .attributes.times.first = inode_size ? INT32_MIN : 0,
				       .attributes.times.last = inode_size == 128 ? INT32_MAX
								: inode_size	  ? EXT4_LAST
										  : 0,
				       .attributes.times.whole_seconds = inode_size == 128,
				       .fixed_inodes = true};
	case XFS_SUPER_MAGIC:
		return (struct limits){
			.name = "xfs", .size = INT64_MAX, .links = INT32_MAX, .symlink = 1023};
	case BTRFS_SUPER_MAGIC:
		return (struct limits){.name = "btrfs",
				       .size = INT64_MAX,
				       .links = 65535,
				       .symlink = 4095,
				       .attributes.each = 16214,
				       .attributes.times.first = -NS_LAST,
				       .attributes.times.last = NS_LAST};
	default:
		return (struct limits){.size = INT64_MAX, .links = UINT32_MAX, .symlink = 4095};
	}
}
