/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What every check program ends with, and how it waits for libmigrate. */
#ifndef SUITE_H
#define SUITE_H

#include <check.h>
#include <stdlib.h>

#include "waiter.h"

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

#endif
