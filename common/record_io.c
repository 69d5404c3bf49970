/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Records on inodes.  The attribute is read before the size and the binding: what is dropped from
 * the record or raised in the size meanwhile makes the view stale, never wrong (I2).
 */
#include "common/record_io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

/* The value's length, or -errno; -ENODATA when there is none. */
static ssize_t read_value(int fd, uint8_t *buf, size_t size)
{
	char path[32];
	ssize_t len = fgetxattr(fd, MIGRATE_XATTR, buf, size);

	if (len < 0 && errno == EBADF) {
		/* O_PATH; a symbolic link behind it is not followed. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = getxattr(path, MIGRATE_XATTR, buf, size);
		if (len < 0 && errno == ENOENT)
			errno = EBADF; /* it was closed after all */
	}
	return len < 0 ? -errno : len;
}

static int check_inode(int fd, struct migrate_record *rec, struct stat *st, bool snapshot)
{
	uint8_t epoch[MIGRATE_EPOCH_LEN];
	struct migrate_binding binding;
	int ret = migrate_binding_get(fd, NULL, &binding);

	if (ret < 0)
		return ret;
	if (!migrate_binding_equal(&binding, &rec->binding)) {
		if (!migrate_binding_snapshot(&binding, &rec->binding))
			return 0;
		if (!snapshot)
			return -EBADMSG;
	}
	if (fstat(fd, st) < 0)
		return -errno;
	/* Of one that is about to be given its size, nothing is here. */
	if (rec->missing.n && !(rec->flags & MIGRATE_REC_RESIZE)) {
		rec->clipped = rec->missing.v[rec->missing.n - 1].end > (uint64_t)st->st_size;
		migrate_extents_clip(&rec->missing, st->st_size);
		migrate_extents_clip(&rec->dirty, st->st_size);
	}
	if (rec->dirty.n) {
		migrate_mount_epoch(fd, epoch);
		if (memcmp(rec->epoch, epoch, sizeof(epoch)) != 0)
			rec->dirty.n = 0;
	}
	return 1;
}

static int load_record(int fd, struct migrate_record *rec, struct stat *st, bool snapshot)
{
	uint8_t buf[MIGRATE_REC_MAX];
	ssize_t len = read_value(fd, buf, sizeof(buf));
	int ret;

	if (len < 0) {
		memset(rec, 0, sizeof(*rec));
		/* A file system without such attributes has no unfinished objects. */
		if (len == -ENODATA || len == -EOPNOTSUPP)
			return 0;
		return len == -ERANGE ? -EBADMSG : len;
	}
	ret = migrate_record_decode(buf, len, rec);
	if (ret < 0)
		return ret;
	ret = check_inode(fd, rec, st, snapshot);
	if (ret <= 0)
		migrate_record_clear(rec);
	return ret;
}

int migrate_record_load_stat(int fd, struct migrate_record *rec, struct stat *st)
{
	int ret = load_record(fd, rec, st, false);

	return ret == 0 && migrate_damaged(fd) ? -EIO : ret;
}

int migrate_record_load(int fd, struct migrate_record *rec)
{
	struct stat st;

	return migrate_record_load_stat(fd, rec, &st);
}

int migrate_record_load_snapshot(int fd, struct migrate_record *rec)
{
	struct stat st;
	int ret = load_record(fd, rec, &st, true);

	return ret == 0 && migrate_damaged(fd) ? -EIO : ret;
}

int migrate_record_store(int fd, const struct migrate_record *rec)
{
	uint8_t buf[MIGRATE_REC_MAX];
	ssize_t len = migrate_record_encode(rec, buf, sizeof(buf));

	if (len < 0)
		return len;
	return fsetxattr(fd, MIGRATE_XATTR, buf, len, 0) < 0 ? -errno : 0;
}

int migrate_record_drop(int fd)
{
	if (fremovexattr(fd, MIGRATE_XATTR) == 0 || errno == ENODATA)
		return 0;
	return -errno;
}

int migrate_is_missing(int fd)
{
	struct migrate_record record;
	int ret = migrate_record_load_snapshot(fd, &record);

	if (ret <= 0)
		return ret;
	if (record.state == MIGRATE_PARTIAL) {
		/* what clients wrote since is here */
		ret = migrate_extents_remove_all(&record.missing, &record.dirty);
		ret = ret ? ret : record.missing.n > 0;
	} else {
		ret = record.state != MIGRATE_FILLED;
	}
	migrate_record_clear(&record);
	return ret;
}
