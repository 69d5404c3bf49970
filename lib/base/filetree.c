/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/filetree.h"

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
	const ssize_t written = ret ? 0 : write(fd, text, len);

	if (!ret && written != (ssize_t)len)
		ret = written < 0 ? -errno : -ENOSPC;
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

#define OPEN_MAX 64 /* directories at once, however deep the tree is */

/* A directory that is being read. */
struct level {
	DIR *dir;     /* NULL: to be opened again, from below */
	long at;      /* ... and to go on there */
	gsize length; /* of its path */
	struct stat st;
	bool leaf;
	int error;
};

struct walk {
	own_fn fn;
	void *arg;
	int dir_fd;
	const char *name;
	GString *path;
	GArray *levels;
	bool in_volume; /* subvolumes are not entered */
	int error;	/* the first */
};

static struct level *deepest(const struct walk *walk)
{
	return walk->levels->len ? &g_array_index(walk->levels, struct level, walk->levels->len - 1)
				 : NULL;
}

/* Of something in the deepest directory. */
static void note_error(struct walk *walk, int error)
{
	struct level *in = deepest(walk);

	if (in && !in->error)
		in->error = error;
	if (!walk->error)
		walk->error = error;
}

/* The object that the path is of.  error: -EXDEV: it is outside. */
static int call_visitor(struct walk *walk, const struct stat *st, bool leaf, int error)
{
	const struct level *in = deepest(walk);
	const char *tail = in ? walk->path->str + in->length + (in->length > 0) : walk->name;
	const struct own_entry entry = {.dir_fd = in ? dirfd(in->dir) : walk->dir_fd,
					.name = tail,
					.path = walk->path->str,
					.st = st,
					.leaf = leaf,
					.outside = error == -EXDEV,
					.error = error == -EXDEV ? 0 : error};

	return walk->fn(walk->arg, &entry);
}

static void push(struct walk *walk, DIR *dir, const struct stat *st)
{
	const struct level level = {.dir = dir, .length = walk->path->len, .st = *st, .leaf = true};

	if (walk->levels->len >= OPEN_MAX) {
		struct level *above =
			&g_array_index(walk->levels, struct level, walk->levels->len - OPEN_MAX);

		if (above->dir) { /* else it was closed on an earlier way down */
			above->at = telldir(above->dir);
			closedir(g_steal_pointer(&above->dir));
		}
	}
	g_array_append_val(walk->levels, level);
}

static int enter(struct walk *walk, int dir_fd, const char *name)
{
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				     .resolve = RESOLVE_NO_XDEV};
	struct stat st;
	DIR *dir;
	int fd, error;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			note_error(walk, -errno);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return call_visitor(walk, &st, true, 0);
	if (walk->in_volume && walk->levels->len &&
	    st.st_dev != g_array_index(walk->levels, struct level, 0).st.st_dev)
		return call_visitor(walk, &st, true, -EXDEV);
	fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof how);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir) {
		push(walk, dir, &st);
		return 0;
	}
	error = errno;
	if (fd >= 0)
		close(fd);
	if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ESTALE)
		return 0; /* gone since it was looked at */
	if (error == EXDEV)
		return call_visitor(walk, &st, true, -EXDEV);
	note_error(walk, -error);
	return call_visitor(walk, &st, false, -error);
}

/* From a directory in it. */
static bool open_again(struct level *level, int below)
{
	int fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == level->st.st_ino &&
	    st.st_dev == level->st.st_dev && (level->dir = fdopendir(fd))) {
		seekdir(level->dir, level->at);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static int leave_directory(struct walk *walk)
{
	const struct level done = *deepest(walk);
	struct level *in;
	int ret;

	g_array_set_size(walk->levels, walk->levels->len - 1);
	in = deepest(walk);
	ret = in && !in->dir && !open_again(in, dirfd(done.dir)) ? -ESTALE : 0;
	closedir(done.dir);
	if (!ret)
		ret = call_visitor(walk, &done.st, done.leaf, done.error);
	return ret;
}

static int next(struct walk *walk)
{
	struct level *in = deepest(walk);
	const struct dirent *e = (errno = 0, readdir(in->dir));
	guint depth = walk->levels->len;
	int ret;

	if (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")))
		return 0;
	if (e) {
		in->leaf = false;
		g_string_append_printf(walk->path, "%s%s", in->length ? "/" : "", e->d_name);
		ret = enter(walk, dirfd(in->dir), e->d_name);
	} else {
		if (errno)
			note_error(walk, -errno);
		ret = leave_directory(walk);
	}
	in = deepest(walk);
	if (in && walk->levels->len <= depth)
		g_string_truncate(walk->path, in->length);
	return ret;
}

static int walk_tree(int dir_fd, const char *name, bool in_volume, own_fn fn, void *arg)
{
	struct walk walk = {.fn = fn,
			    .arg = arg,
			    .dir_fd = dir_fd,
			    .name = name,
			    .in_volume = in_volume,
			    .path = g_string_new(NULL)};
	int ret;

	walk.levels = g_array_new(FALSE, FALSE, sizeof(struct level));
	ret = enter(&walk, dir_fd, name);
	while (!ret && walk.levels->len)
		ret = next(&walk);
	for (guint i = 0; i < walk.levels->len; i++)
		if (g_array_index(walk.levels, struct level, i).dir)
			closedir(g_array_index(walk.levels, struct level, i).dir);
	g_array_free(walk.levels, TRUE);
	g_string_free(walk.path, TRUE);
	return ret ? ret : walk.error;
}

int own_walk(int dir_fd, const char *name, own_fn fn, void *arg)
{
	return walk_tree(dir_fd, name, false, fn, arg);
}

int own_walk_volume(int dir_fd, const char *name, own_fn fn, void *arg)
{
	return walk_tree(dir_fd, name, true, fn, arg);
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
