/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the kernel says in sysfs of a mounted file system. */
#ifndef COMMON_SUPERBLOCK_H
#define COMMON_SUPERBLOCK_H

#include <stdbool.h>

#define SUPERBLOCK_PATH_LEN 128

/* The path, of SUPERBLOCK_PATH_LEN bytes at most, of the directory of fd's file system.  fd may be
 * O_PATH.  False: there is no sysfs, or it is neither ext4, xfs nor btrfs. */
bool migrate_superblock_directory(int fd, char *path);

#endif
