/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into programs: file systems lack what $WITHOUT names, of "nameless" (O_TMPFILE) and
 * "leases".  So what is told of real ones is tried out with them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PRELOADED __attribute__((visibility("default")))

static bool lacks(const char *what)
{
	const char *without = getenv("WITHOUT");

	return without && strstr(without, what);
}

PRELOADED int openat(int fd, const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if ((flags & O_TMPFILE) == O_TMPFILE && lacks("nameless")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, fd, name, flags, mode);
}

PRELOADED int fcntl(int fd, int command, ...)
{
	va_list args;
	long arg;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	if (command == F_SETLEASE && lacks("leases")) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, command, arg);
}
