/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "common/record.h"

int migrate_binding_get(int fd, const char *name, struct migrate_binding *out)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + MIGRATE_BINDING_MAX];
	} u;
	bool named = name && *name;
	int mount_id;

	u.handle.handle_bytes = MIGRATE_BINDING_MAX;
	if (name_to_handle_at(fd, named ? name : "", &u.handle, &mount_id,
			      named ? 0 : AT_EMPTY_PATH) < 0)
		return -errno;
	/* No file system of Linux has a handle type beyond a byte or an empty handle. */
	if (u.handle.handle_type < 0 || u.handle.handle_type > UINT8_MAX || !u.handle.handle_bytes)
		return -EOVERFLOW;
	memset(out, 0, sizeof(*out));
	out->type = u.handle.handle_type;
	out->len = u.handle.handle_bytes;
	memcpy(out->bytes, u.space + sizeof(struct file_handle), out->len);
	return 0;
}

#define PAUSE_MAX_NS 64000000
#define TRIES	     80 /* 5 s */

/* Linux says ENOMEM, too, where an inode of this number is just being made: until its maker, who
 * may have little weight, has had a processor. */
static int open_when_made(int mount_fd, struct file_handle *handle, int flags)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int fd = open_by_handle_at(mount_fd, handle, flags);

	for (int i = 0; fd < 0 && errno == ENOMEM && i < TRIES; i++) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
		fd = open_by_handle_at(mount_fd, handle, flags);
	}
	return fd;
}

int migrate_open_handle(int mount_fd, int type, const void *bytes, size_t len, int flags)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.handle = {.handle_bytes = len, .handle_type = type}};
	int fd;

	if (len > MAX_HANDLE_SZ)
		return -ESTALE;
	memcpy(u.space + sizeof(struct file_handle), bytes, len);
	fd = open_when_made(mount_fd, &u.handle, flags);
	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return fd;
}

int migrate_binding_open(int mount_fd, const struct migrate_binding *binding, int flags)
{
	return migrate_open_handle(mount_fd, binding->type, binding->bytes, binding->len, flags);
}

bool migrate_binding_equal(const struct migrate_binding *a, const struct migrate_binding *b)
{
	return a->type == b->type && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* struct btrfs_fid of the kernel: objectid, root_objectid, generation; the types of its handles. */
#define BTRFS_WITHOUT_PARENT   0x4d
#define BTRFS_WITH_PARENT_ROOT 0x4f
#define BTRFS_OBJECTID	       8
#define BTRFS_GENERATION       16
#define BTRFS_GENERATION_LEN   4

bool migrate_binding_snapshot(const struct migrate_binding *a, const struct migrate_binding *b)
{
	return a->type >= BTRFS_WITHOUT_PARENT && a->type <= BTRFS_WITH_PARENT_ROOT &&
	       a->type == b->type && a->len == b->len &&
	       a->len >= BTRFS_GENERATION + BTRFS_GENERATION_LEN &&
	       memcmp(a->bytes, b->bytes, BTRFS_OBJECTID) == 0 &&
	       memcmp(a->bytes + BTRFS_OBJECTID, b->bytes + BTRFS_OBJECTID, BTRFS_OBJECTID) != 0 &&
	       memcmp(a->bytes + BTRFS_GENERATION, b->bytes + BTRFS_GENERATION,
		      BTRFS_GENERATION_LEN) == 0;
}
