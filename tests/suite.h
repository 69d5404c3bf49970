/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What every check program ends with, and how it waits for libmigrate. */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/waiter.h"

/* Makes a directory "migrate-NAME-..." in path, which has 64 bytes: on a file system of the disk,
 * as records need security.* attributes and kernel handles. */
static inline void make_scratch(char *path, const char *name)
{
	const char *where = getenv("QUICKMIGRATE_SCRATCH");

	ck_assert_int_lt(
		snprintf(path, 64, "%s/migrate-%s-XXXXXX", where ? where : "/var/tmp", name), 64);
	ck_assert_ptr_nonnull(mkdtemp(path));
}

/* Runs and frees the suite; the exit status of main(). */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A suite of one, named as the program. */
static inline int run_tcase(TCase *tcase)
{
	Suite *suite = suite_create(program_invocation_short_name);

	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}

#endif
