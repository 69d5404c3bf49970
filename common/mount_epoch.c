/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The boot id, changed by the number of the directory that the kernel makes in sysfs for each
 * mounted superblock.  That number is of a 64-bit counter and is not given twice in one boot; all
 * mounts of one superblock share it, and a remount keeps it.  The caller's descriptor holds the
 * superblock, so the directory cannot become another one's between two looks.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "record.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define NAME_LEN 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint8_t boot_id[MIGRATE_EPOCH_LEN];
static uint8_t process_id[MIGRATE_EPOCH_LEN]; /* this process's alone */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* A UUID in text, lower case: 16 bytes with dashes somewhere between them. */
static bool parse(const char *text, ssize_t len)
{
	size_t nibbles = 0;

	for (ssize_t i = 0; i < len && nibbles < 32; i++) {
		int digit = hex_digit(text[i]);

		if (text[i] == '-')
			continue;
		if (digit < 0)
			return false;
		boot_id[nibbles / 2] = boot_id[nibbles / 2] << 4 | digit;
		nibbles++;
	}
	return nibbles == 32;
}

static void read_ids(void)
{
	char text[64];
	ssize_t len = -1;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		len = read(fd, text, sizeof(text));
		close(fd);
	}
	if (getrandom(process_id, sizeof(process_id), 0) != sizeof(process_id))
		memset(process_id, 0xff, sizeof(process_id));
	/* Without /proc this process is a boot of its own. */
	if (!parse(text, len))
		memcpy(boot_id, process_id, sizeof(boot_id));
}

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

/* The number of the superblock's directory, 0: there is none. */
static uint64_t superblock_number(int fd, long type)
{
	char path[128], name[NAME_LEN];
	const char *directory = type == EXT4_SUPER_MAGIC    ? "ext4"
				: type == XFS_SUPER_MAGIC   ? "xfs"
				: type == BTRFS_SUPER_MAGIC ? "btrfs"
							    : NULL;
	struct statfs fs;
	struct stat st;

	if (!directory || statfs("/sys/fs", &fs) < 0 || fs.f_type != SYSFS_MAGIC)
		return 0;
	if (!(type == BTRFS_SUPER_MAGIC ? btrfs_name(fd, name) : device_name(fd, name)))
		return 0;
	snprintf(path, sizeof(path), "/sys/fs/%s/%s", directory, name);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

bool migrate_mount_epoch(int fd, uint8_t *epoch)
{
	struct statfs fs;
	uint64_t number = 0;

	pthread_once(&once, read_ids);
	memcpy(epoch, process_id, MIGRATE_EPOCH_LEN);
	if (fstatfs(fd, &fs) < 0)
		return false;
	if (fs.f_type != TMPFS_MAGIC) { /* which is gone with its mount */
		number = superblock_number(fd, fs.f_type);
		if (!number)
			return false;
	}
	memcpy(epoch, boot_id, MIGRATE_EPOCH_LEN);
	for (size_t i = 0; i < sizeof(number); i++)
		epoch[i] ^= number >> 8 * i;
	return true;
}
