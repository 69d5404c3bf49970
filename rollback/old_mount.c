/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "old.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record.h"

#define DIRS_MAX 64

struct old {
	char *where; /* for messages */
	int root;
	struct timespec ctime; /* of the root, before old_begin() */
	GHashTable *dirs;      /* open directories by path, as long as none is moved */
};

char *old_path(const char *dir, const char *name)
{
	return *dir ? g_strconcat(dir, "/", name, NULL) : g_strdup(name);
}

static int open_below(const struct old *old, const char *path, int flags)
{
	const struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC | O_NOFOLLOW,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
						RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, old->root, *path ? path : ".", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static void forget(struct old *old)
{
	g_hash_table_remove_all(old->dirs);
}

static void close_directory(gpointer fd)
{
	close(GPOINTER_TO_INT(fd));
}

/* The directory of the path, which stays old's, until the next call; *name: in it. */
static int parent_of(struct old *old, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	g_autofree char *dir = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");

	*name = slash ? slash + 1 : path;
	if (!**name)
		return -EINVAL;
	gpointer known = g_hash_table_lookup(old->dirs, dir);
	if (known)
		return GPOINTER_TO_INT(known);
	if (g_hash_table_size(old->dirs) >= DIRS_MAX)
		forget(old);
	int fd = open_below(old, dir, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		g_hash_table_insert(old->dirs, g_steal_pointer(&dir), GINT_TO_POINTER(fd));
	return fd;
}

struct old *old_open(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			    "%s: %s; mount the old server's tree there, with the rights to write",
			    path, g_strerror(errno));
		return NULL;
	}
	struct old *old = g_new0(struct old, 1);
	old->where = g_strdup(path);
	old->root = fd;
	old->dirs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_directory);
	return old;
}

void old_close(struct old *old)
{
	if (!old)
		return;
	g_hash_table_unref(old->dirs);
	close(old->root);
	g_free(old->where);
	g_free(old);
}

/* What is done in the root for OLD_STAGE leaves its times alone. */
static int at_root(struct old *old, int (*change)(struct old *old))
{
	struct stat st;
	int ret = fstat(old->root, &st) < 0 ? -errno : change(old);
	const struct timespec times[2] = {st.st_atim, st.st_mtim};

	if (!ret && futimens(old->root, times) < 0)
		ret = -errno;
	return ret;
}

static int make_stage(struct old *old)
{
	return old_mkdir(old, OLD_STAGE);
}

static int remove_stage(struct old *old)
{
	return old_remove(old, OLD_STAGE, true);
}

static int read_clock(struct old *old, int64_t *skew)
{
	const char *probe = OLD_STAGE "/clock";
	struct stat st;
	int fd, ret;

	old_remove(old, probe, false);
	*skew = -g_get_real_time() * 1000;
	fd = old_create(old, probe);
	if (fd < 0)
		return fd;
	ret = fstat(fd, &st) < 0 ? -errno : 0;
	*skew += migrate_ns(st.st_mtim);
	close(fd);
	old_remove(old, probe, false);
	return ret;
}

struct timespec old_root_ctime(const struct old *old)
{
	return old->ctime;
}

bool old_begin(struct old *old, int64_t *skew, GError **error)
{
	struct stat st;
	int ret = fstat(old->root, &st) < 0 ? -errno : at_root(old, make_stage);

	old->ctime = st.st_ctim;
	if (!ret || ret == -EEXIST)
		ret = read_clock(old, skew);
	if (ret < 0)
		g_set_error(
			error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			"%s: cannot be written (%s): mount it with write rights for root of this "
			"host",
			old->where, g_strerror(-ret));
	return ret >= 0;
}

void old_end(struct old *old)
{
	at_root(old, remove_stage);
}

/* ---- looking --------------------------------------------------------------------------------- */

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

int old_stat(struct old *old, const char *path, struct stat *st)
{
	struct statx stx;
	int fd = old_find(old, path), ret;

	if (fd < 0)
		return fd;
	ret = statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &stx) < 0
		      ? -errno
		      : 0;
	close(fd);
	if (ret)
		return ret;
	*st = (struct stat){.st_ino = stx.stx_ino,
			    .st_mode = stx.stx_mode,
			    .st_nlink = stx.stx_nlink,
			    .st_uid = stx.stx_uid,
			    .st_gid = stx.stx_gid,
			    .st_size = (off_t)stx.stx_size,
			    .st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
			    .st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
			    .st_atim = time_of(&stx.stx_atime),
			    .st_mtim = time_of(&stx.stx_mtime),
			    .st_ctim = time_of(&stx.stx_ctime)};
	return 0;
}

int old_find(struct old *old, const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				     .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV};
	const char *name;

	if (!*path)
		return open_below(old, path, O_PATH);
	int dir = parent_of(old, path, &name);
	if (dir < 0)
		return dir;
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

int old_open_file(struct old *old, const char *path, int flags)
{
	return open_below(old, path, flags);
}

static void add_name(GHashTable *names, const struct dirent *entry)
{
	const size_t len = strlen(entry->d_name) + 1;
	struct old_name *name = g_malloc(offsetof(struct old_name, name) + len);

	name->fileid = entry->d_ino;
	memcpy(name->name, entry->d_name, len);
	g_hash_table_replace(names, name->name, name);
}

GHashTable *old_list(struct old *old, const char *path, int *ret)
{
	g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	int fd = open_below(old, path, O_RDONLY | O_DIRECTORY | O_NOATIME);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	*ret = fd < 0 ? fd : dir ? 0 : -errno;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	while ((errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    (*path || strcmp(entry->d_name, OLD_STAGE)))
			add_name(names, entry);
	*ret = -errno;
	closedir(dir);
	return *ret ? NULL : g_steal_pointer(&names);
}

/* ---- changing -------------------------------------------------------------------------------- */

static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

int old_mkdir(struct old *old, const char *path)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	return dir < 0 ? dir : result(mkdirat(dir, name, 0700));
}

int old_create(struct old *old, const char *path)
{
	const char *name;
	int dir = parent_of(old, path, &name);
	int fd = dir < 0 ? dir
			 : openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  0600);

	return dir < 0 || fd >= 0 ? fd : -errno;
}

int old_symlink(struct old *old, const char *target, const char *path)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	return dir < 0 ? dir : result(symlinkat(target, dir, name));
}

int old_mknod(struct old *old, const char *path, mode_t mode, dev_t device)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	return dir < 0 ? dir : result(mknodat(dir, name, (mode & S_IFMT) | 0600, device));
}

/* Both directories of two paths; *from_dir is to be closed. */
static int both(struct old *old, const char *from, const char *to, int *from_dir,
		const char **from_name, const char **to_name)
{
	int dir = parent_of(old, from, from_name);

	*from_dir = dir < 0 ? dir : fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (*from_dir < 0)
		return dir < 0 ? dir : -errno;
	dir = parent_of(old, to, to_name);
	if (dir < 0)
		close(*from_dir);
	return dir;
}

int old_link(struct old *old, const char *from, const char *to)
{
	const char *from_name, *to_name;
	int from_dir, dir = both(old, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = result(linkat(from_dir, from_name, dir, to_name, 0));
	close(from_dir);
	return ret;
}

int old_rename(struct old *old, const char *from, const char *to, bool directory)
{
	const char *from_name, *to_name;
	int from_dir, dir = both(old, from, to, &from_dir, &from_name, &to_name);

	if (dir < 0)
		return dir;
	int ret = result(renameat(from_dir, from_name, dir, to_name));
	close(from_dir);
	if (directory)
		forget(old);
	return ret;
}

int old_remove(struct old *old, const char *path, bool directory)
{
	const char *name;
	int dir = parent_of(old, path, &name);

	if (dir < 0)
		return dir;
	int ret = result(unlinkat(dir, name, directory ? AT_REMOVEDIR : 0));
	if (directory)
		forget(old);
	return ret;
}

int old_sync(struct old *old)
{
	return result(syncfs(old->root));
}
