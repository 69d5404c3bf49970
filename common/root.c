/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_io.h"

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

int migrate_has_record_above(int fd)
{
	int at = open_above(fd), up, ret = 0;

	while (at >= 0 && ret == 0) {
		ret = migrate_has_record(at);
		up = ret == 0 ? open_above(at) : -ENOENT;
		close(at);
		at = up;
	}
	return ret || at == -ENOENT ? ret : -EIO;
}

bool migrate_has_private(int fd)
{
	struct stat st;

	return fstatat(fd, MIGRATE_PRIVATE_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == 0 && !(st.st_mode & 077);
}

bool migrate_is_vacant(int fd, bool but_private)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	bool vacant = true;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while (vacant && (entry = readdir(dir)))
		vacant = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
			 !strcmp(entry->d_name, "lost+found") ||
			 (but_private && !strcmp(entry->d_name, MIGRATE_PRIVATE_DIR));
	closedir(dir);
	return vacant;
}
