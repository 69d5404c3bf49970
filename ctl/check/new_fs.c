/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/new_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/migrate.h"
#include "common/xfs_geometry.h"
#include "lib/base/error.h"
#include "lib/base/flags.h"
#include "retriever/volume/attach_look.h"

#define EXT4_MAGIC     0xef53
#define EA_INODE       0x400
#define SUPERBLOCK     1024 /* its offset */
#define BLOCK	       4096
#define ENTRY	       12 /* bytes of a directory's entry beside its name, about */
#define RESERVE	       20 /* a twentieth of what is needed stays free */
#define INODES_RESERVE 4  /* of a new one: a quarter more, for what comes after */
#define RATIO_LEAST    1024
#define RATIO_MOST     16384 /* mke2fs.conf(5) */

static uint32_t number_at(const uint8_t *bytes, size_t offset, unsigned len)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < len; i++)
		value |= (uint32_t)bytes[SUPERBLOCK + offset + i] << (8 * i);
	return value;
}

bool new_fs_superblock(const uint8_t bytes[2048], uint32_t *inode_size, bool *ea_inode)
{
	if (number_at(bytes, 0x38, 2) != EXT4_MAGIC)
		return false;
	*inode_size = number_at(bytes, 0x4c, 4) ? number_at(bytes, 0x58, 2) : 128;
	*ea_inode = number_at(bytes, 0x60, 4) & EA_INODE;
	return true;
}

/* The device's name as people know it. */
static char *device_name(dev_t device)
{
	g_autofree char *link =
		g_strdup_printf("/sys/dev/block/%u:%u", major(device), minor(device));
	char resolved[PATH_MAX];

	if (!realpath(link, resolved))
		return NULL;
	return g_strconcat("/dev/", strrchr(resolved, '/') + 1, NULL);
}

static void look_at_device(struct new_fs *target, dev_t device)
{
	uint8_t bytes[2048];
	int fd;

	target->device = device_name(device);
	fd = target->device ? open(target->device, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes))
		new_fs_superblock(bytes, &target->inode_size, &target->ea_inode);
	close(fd);
}

/* What attach would refuse, as far as that can be told without writing. */
static char *find_refusal(int fd, struct new_fs *target, bool read_only)
{
	const char *word = flags_word(fd, "");
	char *message = NULL;

	if (read_only)
		return g_strdup("it is mounted read-only: mount it for writing");
	if (word)
		return g_strdup_printf("it is %s: take that off", word);
	if (target->inode_size && !target->ea_inode && target->block < BLOCK)
		return g_strdup("its blocks are too small for security.* attributes: use ext4, xfs "
				"or btrfs, with blocks of 4096 bytes");
	capabilities_look(fd, &target->capabilities, &message);
	return message;
}

static void look_at_directory(struct new_fs *target, bool read_only)
{
	int fd = open(target->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), flags = 0;
	struct xfs_geometry xfs = {.flags = 0};

	if (fd < 0)
		return;
	target->folds = (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_CASEFOLD_FL) ||
			(ioctl(fd, XFS_GET_GEOMETRY, &xfs) == 0 && xfs.flags & XFS_FOLDS_CASE);
	target->filled =
		!migrate_has_record(fd) && !migrate_has_private(fd) && !migrate_is_vacant(fd, true);
	target->refusal = find_refusal(fd, target, read_only);
	if (target->filled && !flags_word(fd, ""))
		attach_look(fd, target->path, true, &target->adoption_refusal);
	close(fd);
}

gboolean new_fs_look(struct new_fs *target, const char *path, GError **error)
{
	struct statvfs room;
	struct statfs kind;
	struct stat st;

	memset(target, 0, sizeof(*target));
	target->limits = limits_of(0, BLOCK, false, 0);
	if (!path)
		return TRUE;
	if (statvfs(path, &room) < 0 || statfs(path, &kind) < 0 || stat(path, &st) < 0)
		return error_set(error, errno, "%s: %s; mount the new file system there", path,
				 g_strerror(errno));
	target->known = true;
	target->path = g_strdup(path);
	target->block = (uint32_t)room.f_frsize;
	target->total = (uint64_t)room.f_blocks * room.f_frsize;
	target->available = (uint64_t)room.f_bavail * room.f_frsize;
	target->inodes = room.f_files;
	target->inodes_available = room.f_favail;
	look_at_device(target, st.st_dev);
	look_at_directory(target, room.f_flag & ST_RDONLY);
	target->limits =
		limits_of(kind.f_type, target->block, target->ea_inode, target->inode_size);
	return TRUE;
}

void new_fs_clear(struct new_fs *target)
{
	g_free(target->path);
	g_free(target->device);
	g_free(target->refusal);
	g_free(target->adoption_refusal);
	memset(target, 0, sizeof(*target));
}

/* ---- what it needs --------------------------------------------------------------------------- */

/* Objects whose attributes are beyond their inode, as far as they were asked. */
static double beyond(const struct tally *tally, uint32_t inode_size, bool by_path)
{
	const uint64_t found =
		inode_size > 256 ? tally->large_xattrs : MAX(tally->acls, tally->xattrs);
	const double all = tally->own_objects;

	if (by_path && inode_size <= 256)
		return all;
	return tally->asked ? all * (double)found / (double)MAX(tally->asked, found) : 0;
}

/* Whether a usual object has more beside its record than 256 bytes hold. */
static uint32_t wanted_inode_size(const struct tally *tally, bool by_path)
{
	const uint64_t found = MAX(tally->acls, tally->xattrs);

	return by_path || (tally->asked && found > tally->asked / 50) ? 512 : 256;
}

static uint32_t ratio_for(uint64_t size, uint64_t inodes)
{
	const uint64_t wanted = size / MAX(inodes + inodes / INODES_RESERVE, 1);
	uint32_t ratio = RATIO_MOST;

	while (ratio > wanted && ratio > RATIO_LEAST)
		ratio /= 2;
	return ratio;
}

struct need new_fs_need(const struct new_fs *target, const struct tally *tally, bool by_path)
{
	struct need need = {.inode_size = wanted_inode_size(tally, by_path)};
	const uint32_t inode_size = target->inode_size ? target->inode_size : need.inode_size;
	const double directories = (double)tally->types[TALLY_DIRECTORIES] * BLOCK +
				   (double)tally->name_bytes + (double)tally_objects(tally) * ENTRY;
	const double attributes = beyond(tally, inode_size, by_path) * BLOCK;
	const bool blocks = target->limits.fixed_inodes || !target->known;
	double least = MIN(tally->own_used, tally->own_blocks);

	need.stubs =
		blocks && by_path && inode_size <= 256 ? (uint64_t)(tally->own_objects * BLOCK) : 0;
	need.bytes = (uint64_t)(tally->own_blocks + directories + (blocks ? attributes : 0));
	need.least = (uint64_t)(least + directories);
	need.inodes = (uint64_t)(tally->own_objects + 1);
	need.inodes += need.inodes / RESERVE;
	need.size = need.bytes + need.bytes / RESERVE;
	if (blocks)
		need.size += need.inodes * need.inode_size;
	need.bytes_per_inode = ratio_for(MAX(target->total, need.size), need.inodes);
	need.fits = !target->known || need.bytes <= target->available;
	need.fits_barely = !target->known || need.least <= target->available;
	need.inodes_fit = !target->known || !target->limits.fixed_inodes ||
			  need.inodes <= target->inodes_available;
	need.inodes_small = target->inode_size && target->inode_size < need.inode_size;
	return need;
}

char *new_fs_mkfs(const struct new_fs *target, const struct need *need)
{
	const bool wide = need->inode_size > 256;

	if (target->known && target->limits.name && !target->limits.fixed_inodes)
		return wide && !strcmp(target->limits.name, "xfs")
			       ? g_strdup("mkfs.xfs -i size=1024 DEVICE")
			       : NULL;
	return g_strdup_printf("mkfs.ext4 -I %u%s -i %u DEVICE", need->inode_size,
			       wide ? " -O ea_inode" : "", need->bytes_per_inode);
}
