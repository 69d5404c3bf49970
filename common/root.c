/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/record_io.h"

#define MARK_HEAD 2 /* type and length of the binding */
#define MARK_MAX  (MARK_HEAD + MIGRATE_BINDING_MAX)

int migrate_has_record(int fd)
{
	struct migrate_record rec;
	int error = errno, ret = migrate_record_load(fd, &rec);

	if (ret > 0)
		migrate_record_clear(&rec);
	if (ret >= 0)
		errno = error;
	return ret < 0 && ret != -EBADMSG && ret != -ENOMEM ? -EIO : ret > 0 ? 1 : ret;
}

/* A descriptor of the directory above, -ENOENT where that is another file system's or none. */
static int open_above(int fd)
{
	struct stat here, above;
	int up, ret;

	if (fstat(fd, &here) < 0)
		return -errno;
	up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (up < 0)
		return -errno;
	ret = fstat(up, &above) < 0 ? -errno : 0;
	if (!ret && (above.st_dev != here.st_dev || above.st_ino == here.st_ino))
		ret = -ENOENT;
	if (ret)
		close(up);
	return ret ? ret : up;
}

/* What look() says of the first directory above it on the same file system of which it does not say
 * 0.  0, or -errno. */
static int look_above(int fd, int (*look)(int fd))
{
	int at = open_above(fd), up, ret = 0;

	while (at >= 0 && ret == 0) {
		ret = look(at);
		up = ret == 0 ? open_above(at) : -ENOENT;
		close(at);
		at = up;
	}
	return ret || at == -ENOENT ? ret : -EIO;
}

int migrate_private_mark(int fd)
{
	struct migrate_binding binding;
	uint8_t value[MARK_MAX];
	int ret = migrate_binding_get(fd, NULL, &binding);

	if (ret < 0)
		return ret;
	value[0] = binding.type;
	value[1] = binding.len;
	memcpy(value + MARK_HEAD, binding.bytes, binding.len);
	return fsetxattr(fd, MIGRATE_XATTR_PRIVATE, value, MARK_HEAD + binding.len, 0) < 0 ? -errno
											   : 0;
}

/* Also in a snapshot. */
bool migrate_private_is_marked(int fd)
{
	struct migrate_binding here, found = {0};
	uint8_t value[MARK_MAX];
	char path[32];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* it may be O_PATH */
	len = getxattr(path, MIGRATE_XATTR_PRIVATE, value, sizeof(value));
	if (len <= MARK_HEAD || len != MARK_HEAD + value[1] ||
	    migrate_binding_get(fd, NULL, &here) < 0)
		return false;
	found.type = value[0];
	found.len = value[1];
	memcpy(found.bytes, value + MARK_HEAD, found.len);
	return migrate_binding_equal(&here, &found) || migrate_binding_snapshot(&here, &found);
}

bool migrate_has_private(int fd)
{
	int private =
		openat(fd, MIGRATE_PRIVATE_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool marked = private >= 0 && migrate_private_is_marked(private);

	if (private >= 0)
		close(private);
	return marked;
}

bool migrate_is_attaching(int fd)
{
	struct stat st;

	return fstatat(fd, MIGRATE_PRIVATE_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (st.st_mode & S_ISVTX) && migrate_has_private(fd);
}

/* All that is in it may be there.  false also where it cannot be listed. */
static bool has_only(int fd, bool (*may_be)(int fd, const char *name))
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	bool only = dir != NULL;

	while (only && (entry = readdir(dir)))
		only = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		       may_be(fd, entry->d_name);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return only;
}

static bool nothing(int fd, const char *name)
{
	return false;
}

bool migrate_is_empty(int fd, const char *name)
{
	int dir = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool empty = dir >= 0 && has_only(dir, nothing);

	if (dir >= 0)
		close(dir);
	return empty;
}

static bool lost_found(int fd, const char *name)
{
	return !strcmp(name, MIGRATE_LOST_FOUND) && migrate_is_empty(fd, name);
}

/* Or the retriever was killed before it had marked it. */
static bool lost_found_or_private(int fd, const char *name)
{
	return lost_found(fd, name) || (!strcmp(name, MIGRATE_PRIVATE_DIR) &&
					(migrate_has_private(fd) || migrate_is_empty(fd, name)));
}

bool migrate_is_vacant(int fd, bool but_private)
{
	return has_only(fd, but_private ? lost_found_or_private : lost_found);
}

static int has_private(int fd)
{
	return migrate_has_private(fd);
}

int migrate_inspect(int fd, struct migrate_inspection *inspection)
{
	int here = migrate_has_record(fd);
	int above = here < 0 ? 0 : look_above(fd, migrate_has_record);

	*inspection = (struct migrate_inspection){.unfinished = here || above};
	if (here < 0 || above < 0)
		return here < 0 ? here : above;
	/* The topmost directory with a record is the root.  When the last record is gone the
	 * private directory is there for a moment still, and only it tells. */
	inspection->vacant =
		!inspection->unfinished && migrate_is_vacant(fd, migrate_is_attaching(fd));
	inspection->root = inspection->unfinished ? !above : migrate_has_private(fd);
	if (!inspection->unfinished)
		inspection->to_be_finalized = inspection->root || look_above(fd, has_private);
	return 0;
}
