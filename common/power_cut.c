/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a power cut leaves of changes, and what SEEK_DATA leaves out, by file system: neither can be
 * tried. */
#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/record.h"
#include "common/zfs_mount.h"

bool migrate_keeps_order(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
	       fs.f_type == TMPFS_MAGIC;
}

bool migrate_tells_data(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type != ZFS_SUPER_MAGIC || migrate_zfs_tells_data("/sys/module/zfs/version"));
}

int migrate_log_count(int fd, uint64_t *count)
{
	struct migrate_zfs_kstat kstat;
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (fs.f_type != ZFS_SUPER_MAGIC)
		return 0;
	if (!migrate_zfs_kstat("/proc", st.st_dev, &kstat) || !kstat.counts)
		return -EOPNOTSUPP;
	*count = kstat.logged;
	return 1;
}
