/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "own_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int own_save(int dir_fd, const char *name, const char *text, size_t len)
{
	g_autofree char *new = g_strconcat(name, ".new", NULL);
	int fd = openat(dir_fd, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : 0;

	if (!ret && write(fd, text, len) != (ssize_t)len)
		ret = -EIO;
	if (!ret && fdatasync(fd) < 0)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (!ret && renameat(dir_fd, new, dir_fd, name) < 0)
		ret = -errno;
	return ret;
}

int own_clear(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(fd, e->d_name, 0) < 0 && unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0)
			ret = -errno;
	}
	closedir(dir);
	return ret;
}

/* ---- trees ---- */

struct walk {
	own_fn fn;
	void *arg;
	GString *path;
};

static int walk_entry(struct walk *walk, int dir_fd, const char *name);

static int walk_names(struct walk *walk, DIR *dir, bool *leaf)
{
	const struct dirent *e;
	gsize len = walk->path->len;

	while ((errno = 0, e = readdir(dir))) {
		int ret;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		*leaf = false;
		g_string_append_printf(walk->path, "%s%s", len ? "/" : "", e->d_name);
		ret = walk_entry(walk, dirfd(dir), e->d_name);
		g_string_truncate(walk->path, len);
		if (ret)
			return ret;
	}
	return -errno;
}

/* *gone: since it was looked at. */
static int walk_directory(struct walk *walk, int dir_fd, const char *name, bool *leaf, bool *gone)
{
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				     .resolve = RESOLVE_NO_XDEV};
	int fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof how), ret;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		*gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ESTALE;
		ret = errno == EXDEV || *gone ? 0 : -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	ret = walk_names(walk, dir, leaf);
	closedir(dir);
	return ret;
}

static int walk_entry(struct walk *walk, int dir_fd, const char *name)
{
	struct stat st;
	struct own_entry entry = {.dir_fd = dir_fd, .name = name, .st = &st, .leaf = true};
	bool gone = false;
	int ret = 0;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		ret = walk_directory(walk, dir_fd, name, &entry.leaf, &gone);
	entry.path = walk->path->str;
	return ret || gone ? ret : walk->fn(walk->arg, &entry);
}

int own_walk(int dir_fd, const char *name, own_fn fn, void *arg)
{
	struct walk walk = {.fn = fn, .arg = arg, .path = g_string_new(NULL)};
	int ret = walk_entry(&walk, dir_fd, name);

	g_string_free(walk.path, TRUE);
	return ret;
}

static int count_one(void *arg, const struct own_entry *entry)
{
	gint64 *left = arg;

	return --*left <= 0;
}

gint64 own_count(int dir_fd, const char *name, gint64 max)
{
	gint64 left = max;
	int ret = own_walk(dir_fd, name, count_one, &left);

	return ret < 0 ? ret : max - left;
}

static int remove_one(void *arg, const struct own_entry *entry)
{
	int *ret = arg;

	if (unlinkat(entry->dir_fd, entry->name, S_ISDIR(entry->st->st_mode) ? AT_REMOVEDIR : 0) <
		    0 &&
	    !*ret)
		*ret = -errno;
	return 0;
}

int own_remove(int dir_fd, const char *name)
{
	int first = 0, ret = own_walk(dir_fd, name, remove_one, &first);

	return first ? first : ret;
}
