/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The boot id, changed by two numbers of the mounted superblock, which no other one gets in one
 * boot; all mounts of one superblock share them, and a remount keeps them.  ext4, xfs and btrfs:
 * that of the directory that the kernel makes in sysfs for it, of a 64-bit counter.  ZFS:
 * zfs_mount.h.  The caller's descriptor holds the superblock, so that what is found cannot become
 * another one's between two looks.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/record.h"
#include "common/superblock.h"
#include "common/zfs_mount.h"

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

static bool number_of_directory(int fd, uint64_t number[2])
{
	char path[SUPERBLOCK_PATH_LEN];
	struct stat st;

	if (!migrate_superblock_directory(fd, path) || stat(path, &st) < 0)
		return false;
	number[0] = st.st_ino;
	return st.st_ino != 0;
}

static bool number_of_kstat(int fd, uint64_t number[2])
{
	struct migrate_zfs_kstat kstat;
	struct stat st;

	if (fstat(fd, &st) < 0 || !migrate_zfs_kstat("/proc", st.st_dev, &kstat))
		return false;
	number[0] = kstat.made;
	number[1] = kstat.id;
	return true;
}

static const struct kind {
	long type;
	bool (*find)(int fd, uint64_t number[2]); /* NULL: it is gone with its mount */
} kinds[] = {
	{EXT4_SUPER_MAGIC, number_of_directory},
	{XFS_SUPER_MAGIC, number_of_directory},
	{BTRFS_SUPER_MAGIC, number_of_directory},
	{ZFS_SUPER_MAGIC, number_of_kstat},
	{TMPFS_MAGIC, NULL},
};

static const struct kind *epoch_kind(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].type == fs.f_type)
			return &kinds[i];
	return NULL;
}

bool migrate_mount_epoch(int fd, uint8_t *epoch)
{
	const struct kind *kind = epoch_kind(fd);
	uint64_t number[2] = {0};
	bool known;

	pthread_once(&once, read_ids);
	known = kind && (!kind->find || kind->find(fd, number));
	memcpy(epoch, known ? boot_id : process_id, MIGRATE_EPOCH_LEN);
	for (size_t i = 0; known && i < MIGRATE_EPOCH_LEN; i++)
		epoch[i] ^= number[i / 8] >> i % 8 * 8;
	return known;
}
