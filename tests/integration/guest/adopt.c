// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Preloaded into a test suite that makes its own objects, makes it work on those that are there.
 *
 * What root is about to create, a file or a directory, is taken out of a pool instead: an object is
 * renamed there, and given mode and times as if it were new.  $POOL has the files "file0", "file1"
 * and on, and likewise the directories "dir0" and on.  Files keep their contents, so that a suite
 * that looks at a new file's size will find it wrong; on every file system alike.
 */
#undef _FILE_OFFSET_BITS /* open and open64 both */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether path is a new name, which then names an object of the pool. */
static bool adopt(const char *path, const char *kind, unsigned *next, mode_t mode)
{
	const char *pool = getenv("POOL");
	struct stat st;
	char from[4096];
	mode_t mask;

	if (!pool || geteuid() != 0 || lstat(path, &st) == 0 || errno != ENOENT)
		return false;
	snprintf(from, sizeof(from), "%s/%s%u", pool, kind, *next);
	if (rename(from, path) < 0) {
		if (errno == ENOENT && access(from, F_OK) < 0) {
			fprintf(stderr, "%s: the pool is empty\n", from);
			abort();
		}
		return false; /* and let the program fail */
	}
	++*next;
	mask = umask(0);
	umask(mask);
	if (chmod(path, mode & ~mask) < 0 || utimensat(AT_FDCWD, path, NULL, 0) < 0) {
		perror(path);
		abort();
	}
	return true;
}

static int open_adopted(const char *symbol, const char *path, int flags, mode_t mode)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, symbol);
	static unsigned next;

	if (flags & O_CREAT && adopt(path, "file", &next, mode))
		flags &= ~(O_CREAT | O_EXCL);
	return real(path, flags, mode);
}

static mode_t mode_of(int flags, va_list more)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list more;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(more, flags);                                                             \
		mode = mode_of(flags, more);                                                       \
		va_end(more);                                                                      \
		return open_adopted(#name, path, flags, mode);                                     \
	}

OPEN(open)
OPEN(open64)

int mkdir(const char *path, mode_t mode)
{
	int (*real)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
	static unsigned next;

	return adopt(path, "dir", &next, mode) ? 0 : real(path, mode);
}
