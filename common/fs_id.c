/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "common/fs_id.h"

#include <linux/ioctl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "common/xfs_geometry.h"

#define UUID_LEN 16
#define OF_UUID	 ((uint64_t)1 << 63) /* no device has such a number */

/* linux/fs.h from 6.9 on */
struct fs_uuid {
	uint8_t len, uuid[UUID_LEN];
};
#define GET_FS_UUID _IOR(0x15, 0, struct fs_uuid)

/* As the kernel's huge_encode_dev(). */
static bool is_device(uint64_t id, dev_t dev)
{
	const uint32_t minor_number = minor(dev);

	return id == ((minor_number & 0xff) | (uint32_t)major(dev) << 8 |
		      (minor_number & ~UINT32_C(0xff)) << 12);
}

static bool get_uuid(int fd, uint64_t halves[2])
{
	struct fs_uuid fs;
	struct xfs_geometry xfs;

	if (ioctl(fd, GET_FS_UUID, &fs) == 0 && fs.len == UUID_LEN)
		memcpy(halves, fs.uuid, UUID_LEN);
	else if (ioctl(fd, XFS_GET_GEOMETRY, &xfs) == 0)
		memcpy(halves, xfs.uuid, UUID_LEN);
	else
		return false;
	return true;
}

uint64_t migrate_fs_id(int fd)
{
	uint64_t id = 0, halves[2];
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return 0;
	memcpy(&id, &fs.f_fsid, sizeof(id));
	if (!is_device(id, st.st_dev))
		return id;
	return get_uuid(fd, halves) ? (halves[0] ^ halves[1]) | OF_UUID : 0;
}

bool migrate_fs_id_is(uint64_t kept, uint64_t id)
{
	return kept == id || (kept <= UINT32_MAX && (!id || id & OF_UUID));
}

uint64_t migrate_fs_number(int fd, dev_t dev)
{
	uint64_t number = dev;
	struct statfs fs;

	if (fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC)
		memcpy(&number, &fs.f_fsid, sizeof(number));
	return number;
}
