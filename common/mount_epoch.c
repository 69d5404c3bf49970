/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The boot id, changed by the number of the directory that the kernel makes in sysfs for each
 * mounted superblock.  That number is of a 64-bit counter and is not given twice in one boot; all
 * mounts of one superblock share it, and a remount keeps it.  The caller's descriptor holds the
 * superblock, so the directory cannot become another one's between two looks.
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

/* The number of the superblock's directory, 0: there is none. */
static uint64_t superblock_number(int fd)
{
	char path[SUPERBLOCK_PATH_LEN];
	struct stat st;

	return migrate_superblock_directory(fd, path) && stat(path, &st) == 0 ? st.st_ino : 0;
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
		number = superblock_number(fd);
		if (!number)
			return false;
	}
	memcpy(epoch, boot_id, MIGRATE_EPOCH_LEN);
	for (size_t i = 0; i < sizeof(number); i++)
		epoch[i] ^= number >> 8 * i;
	return true;
}
