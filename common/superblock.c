/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/superblock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAME_LEN 64

/* As the kernel names the device in sysfs. */
static bool device_name(int fd, char *name)
{
	char path[64], link[512];
	const char *base;
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return false;
	link[len] = '\0';
	base = strrchr(link, '/');
	base = base ? base + 1 : link;
	if (strlen(base) >= NAME_LEN)
		return false;
	strcpy(name, base);
	return true;
}

static int btrfs_info(int fd, struct btrfs_ioctl_fs_info_args *info)
{
	char path[32];
	int copy, ret = ioctl(fd, BTRFS_IOC_FS_INFO, info);

	if (ret == 0 || errno != EBADF)
		return ret;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* it is O_PATH */
	copy = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (copy < 0)
		return -1;
	ret = ioctl(copy, BTRFS_IOC_FS_INFO, info);
	close(copy);
	return ret;
}

/* A UUID, because its device is no one's. */
static bool btrfs_name(int fd, char *name)
{
	struct btrfs_ioctl_fs_info_args info = {0};
	size_t len = 0;

	if (btrfs_info(fd, &info) < 0)
		return false;
	for (int i = 0; i < BTRFS_FSID_SIZE; i++)
		len += snprintf(name + len, NAME_LEN - len, "%s%02x",
				i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", info.fsid[i]);
	return true;
}

static const char *directory_of(long type)
{
	switch (type) {
	case EXT4_SUPER_MAGIC:
		return "ext4";
	case XFS_SUPER_MAGIC:
		return "xfs";
	case BTRFS_SUPER_MAGIC:
		return "btrfs";
	default:
		return NULL;
	}
}

bool migrate_superblock_directory(int fd, char *path)
{
	const char *directory;
	char name[NAME_LEN];
	struct statfs fs, sys;

	if (fstatfs(fd, &fs) < 0 || statfs("/sys/fs", &sys) < 0 || sys.f_type != SYSFS_MAGIC)
		return false;
	directory = directory_of(fs.f_type);
	if (!directory)
		return false;
	if (!(fs.f_type == BTRFS_SUPER_MAGIC ? btrfs_name(fd, name) : device_name(fd, name)))
		return false;
	snprintf(path, SUPERBLOCK_PATH_LEN, "/sys/fs/%s/%s", directory, name);
	return true;
}
