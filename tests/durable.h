/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a power cut may take: a check program that includes this (in one file) sees its own writes,
 * new names and syncs.  A file or directory is durable when it was synced after it was last
 * changed: by fsync(), fdatasync(), or syncfs() of its file system.  A file that gets another name
 * before its data are durable is never so: that name may be an empty file's.  A name is its
 * directory's change.
 *
 * Mappings and other processes are not seen.  Any thread may call.  Include it after core_hook.h
 * where that is included. */
#ifndef TESTS_DURABLE_H
#define TESTS_DURABLE_H

#include <dlfcn.h>
#include <fcntl.h>
#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/suite.h"

enum { DURABLE_CHANGED = 1, DURABLE_EARLY = 2 };

static GMutex durable_lock;
static GHashTable *durable_changed; /* "dev/inode" to the flags above */

static inline char *durable_key(const struct stat *st)
{
	return g_strdup_printf("%lu/%lu", (unsigned long)st->st_dev, (unsigned long)st->st_ino);
}

static inline void durable_set(const struct stat *st, unsigned flags)
{
	g_mutex_lock(&durable_lock);
	if (!durable_changed)
		durable_changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char *key = durable_key(st);
	const unsigned now = GPOINTER_TO_UINT(g_hash_table_lookup(durable_changed, key));
	const unsigned early = now & DURABLE_CHANGED ? flags & DURABLE_EARLY : 0;
	const unsigned next = now | (flags & DURABLE_CHANGED) | early;

	g_hash_table_replace(durable_changed, g_steal_pointer(&key), GUINT_TO_POINTER(next));
	g_mutex_unlock(&durable_lock);
}

static inline void durable_wrote(int fd)
{
	const int saved = errno;
	struct stat st;

	if (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		durable_set(&st, DURABLE_CHANGED);
	errno = saved;
}

/* It has the number of one that is gone, perhaps. */
static inline void durable_made(int fd)
{
	const int saved = errno;
	struct stat st;

	if (!fstat(fd, &st)) {
		g_autofree char *key = durable_key(&st);

		g_mutex_lock(&durable_lock);
		if (durable_changed)
			g_hash_table_remove(durable_changed, key);
		g_mutex_unlock(&durable_lock);
	}
	errno = saved;
}

/* A name in that directory came, went or changed. */
static inline void durable_named(int dir, const char *path)
{
	const int saved = errno;
	g_autofree char *parent = g_path_get_dirname(path);
	struct stat st;

	if (!fstatat(dir, parent, &st, 0))
		durable_set(&st, DURABLE_CHANGED);
	errno = saved;
}

static inline void durable_renames(int dir, const char *path)
{
	const int saved = errno;
	struct stat st;

	if (!fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		durable_set(&st, DURABLE_EARLY);
	errno = saved;
}

/* all: of its file system. */
static inline void durable_synced(int fd, bool all)
{
	const int saved = errno;
	struct stat st;
	GHashTableIter iter;
	gpointer key, flags;

	if (!fstat(fd, &st) && durable_changed) {
		g_autofree char *one = durable_key(&st);
		const size_t len = all ? (size_t)(strchr(one, '/') - one) + 1 : strlen(one) + 1;

		g_mutex_lock(&durable_lock);
		g_hash_table_iter_init(&iter, durable_changed);
		while (g_hash_table_iter_next(&iter, &key, &flags))
			if (!strncmp(key, one, len))
				g_hash_table_iter_replace(
					&iter, GUINT_TO_POINTER(GPOINTER_TO_UINT(flags) &
								~(unsigned)DURABLE_CHANGED));
		g_mutex_unlock(&durable_lock);
	}
	errno = saved;
}

/* Of what stands in dir (AT_FDCWD) by that name, no symbolic link followed; "": dir itself. */
static inline bool is_durable_in(int dir, const char *name)
{
	struct stat st;
	const int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);

	ck_assert_msg(!fstatat(dir, name, &st, flags), "%s: %s", name, g_strerror(errno));
	g_autofree char *key = durable_key(&st);
	g_mutex_lock(&durable_lock);
	const bool changed = durable_changed && g_hash_table_lookup(durable_changed, key);
	g_mutex_unlock(&durable_lock);
	return !changed;
}

#define is_durable_at(path) is_durable_in(AT_FDCWD, path)
#define ck_assert_durable_in(dir, name)                                                            \
	ck_assert_msg(is_durable_in(dir, name), "%s is not durable", *(name) ? (name) : "it")
#define ck_assert_durable(path) ck_assert_durable_in(AT_FDCWD, path)

/* ---- the calls ------------------------------------------------------------------------------- */

#define DURABLE_REAL(name, symbol) ((__typeof__(&name))dlsym(RTLD_NEXT, symbol))

ssize_t write(int fd, const void *data, size_t len)
{
	const ssize_t n = DURABLE_REAL(write, "write")(fd, data, len);

	durable_wrote(fd);
	return n;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	const ssize_t n = DURABLE_REAL(writev, "writev")(fd, parts, count);

	durable_wrote(fd);
	return n;
}

ssize_t sendfile(int to, int from, off_t *at, size_t len)
{
	const ssize_t n = DURABLE_REAL(sendfile, "sendfile64")(to, from, at, len);

	durable_wrote(to);
	return n;
}

int openat(int dir, const char *path, int flags, ...)
{
	const bool makes = flags & O_CREAT;
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (makes || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(args, mode_t);
	va_end(args);
	const bool was = !makes || !faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW);
	const int fd = DURABLE_REAL(openat, "openat64")(dir, path, flags, mode);
	if (fd >= 0 && !was) {
		durable_made(fd);
		durable_named(dir, path);
	}
	return fd;
}

#ifdef TESTS_RETRIEVER_CORE_HOOK_H

static inline void durable_seen(const char *call, int fd)
{
	if (strstr(call, "sync"))
		durable_synced(fd, g_str_equal(call, "syncfs"));
	else
		durable_wrote(fd);
}

static __attribute__((constructor)) void durable_see(void)
{
	core_seen = durable_seen;
}

#else

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	const ssize_t n = DURABLE_REAL(pwrite, "pwrite64")(fd, data, len, at);

	durable_wrote(fd);
	return n;
}

int ftruncate(int fd, off_t size)
{
	const int ret = DURABLE_REAL(ftruncate, "ftruncate64")(fd, size);

	durable_wrote(fd);
	return ret;
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	const int ret = DURABLE_REAL(fsetxattr, "fsetxattr")(fd, name, value, size, flags);

	durable_wrote(fd);
	return ret;
}

int fremovexattr(int fd, const char *name)
{
	const int ret = DURABLE_REAL(fremovexattr, "fremovexattr")(fd, name);

	if (!ret)
		durable_wrote(fd);
	return ret;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	durable_renames(from_dir, from);
	const int ret = DURABLE_REAL(renameat, "renameat")(from_dir, from, to_dir, to);

	durable_named(from_dir, from);
	durable_named(to_dir, to);
	return ret;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	durable_renames(from_dir, from);
	const int ret = DURABLE_REAL(renameat2, "renameat2")(from_dir, from, to_dir, to, flags);

	durable_named(from_dir, from);
	durable_named(to_dir, to);
	return ret;
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	const int ret = DURABLE_REAL(linkat, "linkat")(from_dir, from, to_dir, to, flags);

	durable_named(to_dir, to);
	return ret;
}

int unlinkat(int dir, const char *path, int flags)
{
	const int ret = DURABLE_REAL(unlinkat, "unlinkat")(dir, path, flags);

	if (!ret)
		durable_named(dir, path);
	return ret;
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	const int ret = DURABLE_REAL(mkdirat, "mkdirat")(dir, path, mode);

	durable_named(dir, path);
	return ret;
}

int fsync(int fd)
{
	const int ret = DURABLE_REAL(fsync, "fsync")(fd);

	if (!ret)
		durable_synced(fd, false);
	return ret;
}

int fdatasync(int fd)
{
	const int ret = DURABLE_REAL(fdatasync, "fdatasync")(fd);

	if (!ret)
		durable_synced(fd, false);
	return ret;
}

int syncfs(int fd)
{
	const int ret = DURABLE_REAL(syncfs, "syncfs")(fd);

	if (!ret)
		durable_synced(fd, true);
	return ret;
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

#endif

#endif
