/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/record.h"
#include "common/superblock.h"

#define NAME "/errors_count"

int migrate_mount_errors(int fd)
{
	char path[SUPERBLOCK_PATH_LEN + sizeof(NAME)];
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0 || fs.f_type != EXT4_SUPER_MAGIC ||
	    !migrate_superblock_directory(fd, path))
		return -1;
	strcat(path, NAME);
	return open(path, O_RDONLY | O_CLOEXEC);
}
