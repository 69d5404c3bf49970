/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Mounts of a test's own, in its scratch directory. */
#ifndef TESTS_COMMON_MOUNTS_H
#define TESTS_COMMON_MOUNTS_H

#include <sched.h>
#include <sys/mount.h>

#include "tests/common/support.h"

static inline void setup_mounts(void)
{
	scratch_make();
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

/* In the scratch directory. */
static inline void run(const char *command)
{
	ck_assert_int_eq(chdir(scratch), 0);
	ck_assert_msg(system(command) == 0, "%s", command);
	ck_assert_int_eq(chdir("/"), 0);
}

#endif
