/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/copies/copy_mark.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "lib/base/mtime.h"
#define XATTR_COPIED "security.migrate.copied"
#define VERSION	     1
#define UNSETTLED    2	/* another version */
#define HEAD	     19 /* version, fileid, ctime; type and length of the binding */
#define MARK_MAX     (HEAD + MIGRATE_BINDING_MAX)
#define PATH_ROOM    (32 + NAME_MAX)

struct mark {
	uint64_t fileid;
	int64_t ctime;
	bool unsettled;
};

/* A path that also works for objects that cannot be opened: a symbolic link, a device. */
static void path_of(char path[PATH_ROOM], int dir_fd, const char *name)
{
	g_snprintf(path, PATH_ROOM, "/proc/self/fd/%d/%s", dir_fd, name);
}

static size_t encode(uint8_t *mark, uint8_t version, uint64_t fileid, int64_t ctime,
		     const struct migrate_binding *binding)
{
	uint64_t fields[2] = {htole64(fileid), htole64((uint64_t)ctime)};

	mark[0] = version;
	memcpy(mark + 1, fields, sizeof fields);
	mark[HEAD - 2] = binding->type;
	mark[HEAD - 1] = binding->len;
	memcpy(mark + HEAD, binding->bytes, binding->len);
	return HEAD + binding->len;
}

/* FALSE: it is no mark of this inode. */
static bool decode(const uint8_t *mark, ssize_t len, const struct migrate_binding *binding,
		   struct mark *out)
{
	uint64_t fields[2];

	if (len != HEAD + binding->len || (mark[0] != VERSION && mark[0] != UNSETTLED) ||
	    mark[HEAD - 2] != binding->type || mark[HEAD - 1] != binding->len ||
	    memcmp(mark + HEAD, binding->bytes, binding->len))
		return false;
	memcpy(fields, mark + 1, sizeof fields);
	*out = (struct mark){le64toh(fields[0]), (int64_t)le64toh(fields[1]), *mark == UNSETTLED};
	return true;
}

int copy_mark_set_bound(int fd, const struct migrate_binding *binding, uint64_t fileid,
			int64_t ctime)
{
	uint8_t mark[MARK_MAX];

	return fsetxattr(fd, XATTR_COPIED, mark, encode(mark, VERSION, fileid, ctime, binding),
			 XATTR_CREATE) < 0 &&
			       errno != EEXIST
		       ? -errno
		       : 0;
}

/* Encodes the mark for the object of that binding. */
static size_t encode_attr(uint8_t *mark, const struct source_attr *attr,
			  const struct migrate_binding *binding)
{
	return encode(mark, attr->unsettled ? UNSETTLED : VERSION, attr->fileid, attr->ctime,
		      binding);
}

int copy_mark_set(int fd, const struct source_attr *attr)
{
	struct migrate_binding binding;
	uint8_t mark[MARK_MAX];
	int ret = migrate_binding_get(fd, "", &binding);

	if (ret)
		return ret;
	return fsetxattr(fd, XATTR_COPIED, mark, encode_attr(mark, attr, &binding), 0) < 0 ? -errno
											   : 0;
}

int copy_mark_set_if_room(int fd, const struct source_attr *attr)
{
	int ret = copy_mark_set(fd, attr);

	return ret == -ENOSPC ? 0 : ret;
}

int copy_mark_set_name(int dir_fd, const char *name, const struct source_attr *attr)
{
	struct migrate_binding binding;
	uint8_t mark[MARK_MAX];
	char path[PATH_ROOM];
	int ret = migrate_binding_get(dir_fd, name, &binding);

	if (ret)
		return ret;
	path_of(path, dir_fd, name);
	return lsetxattr(path, XATTR_COPIED, mark, encode_attr(mark, attr, &binding), 0) < 0 &&
			       errno != ENOSPC
		       ? -errno
		       : 0;
}

int copy_mark_remove(int fd)
{
	return fremovexattr(fd, XATTR_COPIED) < 0 && errno != ENODATA && errno != EOPNOTSUPP
		       ? -errno
		       : 0;
}

int copy_mark_remove_name(int dir_fd, const char *name)
{
	char path[PATH_ROOM];

	path_of(path, dir_fd, name);
	return lremovexattr(path, XATTR_COPIED) < 0 && errno != ENODATA && errno != EOPNOTSUPP
		       ? -errno
		       : 0;
}

static bool get_copied(int fd, struct mark *out)
{
	struct migrate_binding binding;
	uint8_t mark[MARK_MAX];
	ssize_t len = fgetxattr(fd, XATTR_COPIED, mark, sizeof mark);

	return len > 0 && migrate_binding_get(fd, "", &binding) == 0 &&
	       decode(mark, len, &binding, out);
}

int copy_mark_get(int fd, uint64_t *fileid, int64_t *ctime)
{
	struct mark mark;

	if (!get_copied(fd, &mark))
		return 0;
	*fileid = mark.fileid;
	*ctime = mark.ctime;
	return 1;
}

static bool is_version(const struct migrate_record *rec, const struct source_attr *attr)
{
	return rec->fileid == attr->fileid && rec->size == attr->size &&
	       rec->mtime == attr->mtime && rec->ctime == attr->ctime;
}

/* fd: of a file, whose mark does not count. */
static int compare_unmarked(int fd, const struct source_attr *attr, bool adopted)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);

	/* a record that is void came with the bytes of a stub, which may be zeros */
	if (ret == 0)
		return adopted && fgetxattr(fd, MIGRATE_XATTR, NULL, 0) < 0 ? COPY_ALIKE
									    : COPY_OTHER;
	if (ret < 0)
		return ret == -EBADMSG ? COPY_OTHER : ret;
	ret = is_version(&rec, attr) ? COPY_UNFINISHED : COPY_OTHER;
	migrate_record_clear(&rec);
	return ret;
}

/* Reads the mark of a name, for objects that cannot be opened or need not be. */
static bool get_by_name(int dir_fd, const char *name, struct mark *out)
{
	struct migrate_binding binding;
	uint8_t mark[MARK_MAX];
	char path[PATH_ROOM];
	ssize_t len;

	path_of(path, dir_fd, name);
	len = lgetxattr(path, XATTR_COPIED, mark, sizeof mark);
	return len > 0 && migrate_binding_get(dir_fd, name, &binding) == 0 &&
	       decode(mark, len, &binding, out);
}

/* A mark without a ctime says nothing about the attributes. */
static int compare_mark(const struct mark *mark, const struct source_attr *attr)
{
	if (mark->fileid != attr->fileid || mark->ctime != attr->ctime)
		return COPY_OTHER;
	if (mark->unsettled)
		return COPY_UNSETTLED;
	return attr->no_ctime ? COPY_ALIKE : COPY_SAME;
}

/* st: its type is the one of attr, and of a file the size. */
static int compare_file(int fd, const struct source_attr *attr, bool adopted, const struct stat *st)
{
	struct mark mark;
	bool marked = get_copied(fd, &mark);

	/* until it is whole its mtime moves, and the record knows */
	if (marked && mark.unsettled && compare_unmarked(fd, attr, false) == COPY_UNFINISHED)
		return COPY_UNSETTLED;
	if (!mtime_is(st->st_mtim, attr->mtime) && (marked || adopted))
		return COPY_OTHER;
	if (!marked && mtime_is_nearest(st->st_mtim, attr->mtime))
		return COPY_OTHER; /* any of these times is that one here */
	if (!marked)
		return compare_unmarked(fd, attr, adopted);
	return compare_mark(&mark, attr);
}

static int compare_other(int dir_fd, const char *name, const struct source_attr *attr, bool adopted,
			 const struct stat *st)
{
	struct mark mark;
	bool marked = get_by_name(dir_fd, name, &mark);
	int found = marked ? compare_mark(&mark, attr) : COPY_OTHER;

	if (S_ISDIR(attr->mode))
		return found == COPY_SAME ? COPY_SAME : COPY_ALIKE;
	/* what has no data is compared as a whole: not every tool keeps the times of a symbolic
	 * link */
	if (marked)
		return mtime_is(st->st_mtim, attr->mtime) ? found : COPY_OTHER;
	return adopted && (st->st_rdev == attr->rdev || S_ISLNK(attr->mode)) ? COPY_ALIKE
									     : COPY_OTHER;
}

int copy_mark_compare(int dir_fd, const char *name, const struct source_attr *attr, bool adopted,
		      struct stat *st, int *kept)
{
	int fd, found;

	if (kept)
		*kept = -1;
	if (fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? COPY_NOTHING : -errno;
	if ((st->st_mode & S_IFMT) != (attr->mode & S_IFMT))
		return COPY_OTHER;
	if (!S_ISREG(attr->mode))
		return compare_other(dir_fd, name, attr, adopted, st);
	if (st->st_size != (off_t)attr->size)
		return COPY_OTHER;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	found = compare_file(fd, attr, adopted, st);
	if (kept && found >= COPY_ALIKE)
		*kept = fd;
	else
		close(fd);
	return found;
}
