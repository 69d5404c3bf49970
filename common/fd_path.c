/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/migrate.h"

#define TRIES 8

/* ---- down ------------------------------------------------------------------------------------ */

static int open_once(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	const struct open_how how = {.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
				     .resolve = resolve | RESOLVE_BENEATH};
	long fd = -1;

	errno = EAGAIN; /* which is said where somebody renames directories meanwhile */
	for (unsigned i = 0; i < TRIES && fd < 0 && (errno == EAGAIN || errno == EINTR); i++)
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

int migrate_open_below(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	char piece[PATH_MAX];
	int at = dir_fd, fd = 0;

	while (fd >= 0 && strlen(path) >= sizeof(piece)) {
		const char *end = memrchr(path, '/', sizeof(piece));

		fd = -ENAMETOOLONG;
		if (end) {
			memcpy(piece, path, (size_t)(end - path));
			piece[end - path] = '\0';
			path = end + 1;
			fd = open_once(at, piece, O_PATH | O_DIRECTORY | O_NOFOLLOW, resolve);
		}
		if (at != dir_fd)
			close(at);
		at = fd;
	}
	if (fd < 0)
		return fd;
	fd = open_once(at, *path ? path : ".", flags, resolve);
	if (at != dir_fd)
		close(at);
	return fd;
}

/* ---- up -------------------------------------------------------------------------------------- */

/* "head/tail"; both are freed. */
static char *join_path(char *head, char *tail)
{
	char *path = NULL;

	if (head && tail && asprintf(&path, "%s/%s", strcmp(head, "/") ? head : "", tail) < 0)
		path = NULL;
	free(head);
	free(tail);
	return path;
}

/* As far as the kernel says it.  NULL with errno. */
static char *kernel_path(int fd)
{
	char link[sizeof("/proc/self/fd/") + 12], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path));
	return len < 0 ? NULL : strndup(path, (size_t)len);
}

/* Of the object in a directory, which is closed. */
static char *name_in(int parent, const struct stat *st)
{
	DIR *dir = fdopendir(parent);
	const struct dirent *entry;
	char *name = NULL;
	struct stat found;

	if (!dir) {
		close(parent);
		return NULL;
	}
	while (!name && (entry = readdir(dir)))
		if (entry->d_ino == st->st_ino && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, "..") &&
		    !fstatat(dirfd(dir), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) &&
		    found.st_ino == st->st_ino && found.st_dev == st->st_dev)
			name = strdup(entry->d_name);
	closedir(dir);
	return name;
}

static int open_above(int fd)
{
	return openat(fd, "..", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
}

char *migrate_dir_name(int fd)
{
	int above = open_above(fd);
	struct stat st;

	if (above < 0)
		return NULL;
	if (fstat(fd, &st) == 0)
		return name_in(above, &st);
	close(above);
	return NULL;
}

char *migrate_fd_path(int fd)
{
	char *path = kernel_path(fd), *tail = NULL;
	int at = fd;

	while (!path && errno == ENAMETOOLONG) {
		char *name = migrate_dir_name(at);
		int above = name ? open_above(at) : -1;

		tail = tail ? join_path(name, tail) : name;
		if (at != fd)
			close(at);
		at = above;
		if (at < 0)
			break;
		path = kernel_path(at);
	}
	if (at >= 0 && at != fd)
		close(at);
	if (tail)
		return join_path(path, tail);
	return path;
}
