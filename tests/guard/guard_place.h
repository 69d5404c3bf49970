/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `place` is a file system of a test's own, mounted in its own namespace. */
#ifndef TESTS_GUARD_GUARD_PLACE_H
#define TESTS_GUARD_GUARD_PLACE_H

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/journal/place.h"

static inline void guard_place_make(void)
{
	place_make();
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", place, "tmpfs", 0, "size=64m"), 0);
}

static inline void guard_place_remove(void)
{
	ck_assert_int_eq(umount2(place, MNT_DETACH), 0);
	place_remove();
}

static inline char *guard_put(const char *name)
{
	char *path = g_build_filename(place, name, NULL);

	ck_assert(g_file_set_contents(path, "text", 4, NULL));
	return path;
}

/* The status of a child. */
static inline int guard_ended(pid_t child)
{
	int status;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
