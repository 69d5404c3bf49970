/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file system that the tree is to go to, and whether the tree fits.  It is only looked at. */
#ifndef CTL_CHECK_NEW_FS_H
#define CTL_CHECK_NEW_FS_H

#include "ctl/check/fs_limits.h"
#include "ctl/check/tally.h"
#include "retriever/objects/capabilities.h"

struct new_fs {
	bool known;
	char *path;   /* a directory of it */
	char *device; /* "/dev/sdb1"; NULL: not known */
	struct limits limits;
	struct capabilities capabilities; /* as far as they were looked at */
	uint64_t total, available;	  /* bytes */
	uint64_t inodes, inodes_available;
	uint32_t block;
	uint32_t inode_size; /* bytes, of ext4; 0: not known */
	bool ea_inode;	     /* of ext4 */
	bool folds;    /* names that differ in case alone are one name, as far as can be seen */
	char *refusal; /* why attach would refuse it, besides, or NULL */
	bool filled;   /* it is not empty, and belongs to no migration yet */
	char *adoption_refusal; /* then: why attach --adopt would refuse it, or NULL */
};

/* FALSE with error set: it cannot be looked at.  path NULL: nothing is known of it. */
gboolean new_fs_look(struct new_fs *target, const char *path, GError **error);
void new_fs_clear(struct new_fs *target);
/* Of ext4, from the first 2048 bytes of its device (kernel.org, "Super Block"); FALSE: it is none.
 */
bool new_fs_superblock(const uint8_t bytes[2048], uint32_t *inode_size, bool *ea_inode);

struct need {
	uint64_t bytes;	 /* with directories and blocks of attributes */
	uint64_t least;	 /* if holes stay holes, as the old server has them: no less */
	uint64_t stubs;	 /* of these bytes, those of blocks for records until everything is whole */
	uint64_t inodes; /* with a reserve of one in twenty */
	uint32_t inode_size;
	uint32_t bytes_per_inode; /* for mkfs, of a file system that has `size` bytes */
	uint64_t size;		  /* that a new one should have */
	bool fits, fits_barely;	  /* there is space for `bytes`, for `least` alone; TRUE where not
				     known */
	bool inodes_fit;
	bool inodes_small; /* inodes there are shorter than inode_size */
};

/* by_path: records hold paths, as for SMB and file sources. */
struct need new_fs_need(const struct new_fs *target, const struct tally *tally, bool by_path);
/* "mkfs.ext4 -I 512 -O ea_inode -i 8192 DEVICE": a command that makes a file system that fits.
 * NULL: mkfs does so without options.  g_free. */
char *new_fs_mkfs(const struct new_fs *target, const struct need *need);

#endif
