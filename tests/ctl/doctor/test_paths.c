/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doctor/paths.h"

#include <glib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/suite.h"

/* Instead of the C library's: of a dead mount nobody answers. */
int statvfs(const char *path, struct statvfs *vfs)
{
	while (strstr(path, "dead"))
		pause();
	return 0;
}

static void find(const char *expected, const char *const *paths, unsigned wait_ms)
{
	const char *silent = paths_find_silent(paths, wait_ms);

	if (expected)
		ck_assert_str_eq(silent, expected);
	else
		ck_assert_ptr_null(silent);
}

/* What is not there answers, too. */
START_TEST(the_first_that_is_silent)
{
	char dead[64];

	make_scratch(dead, "dead");
	find(NULL, (const char *const[]){NULL}, 60000);
	find(NULL, (const char *const[]){"/", "/nonexistent", "/proc", NULL}, 60000);
	find(dead, (const char *const[]){"/", "/dev", dead, "/sys", NULL}, 500);
	/* it is not waited for again, nor is what is behind it left out */
	const gint64 began = g_get_monotonic_time();
	find(dead, (const char *const[]){"/", dead, NULL}, 60000);
	find(NULL, (const char *const[]){"/", "/sys", NULL}, 60000);
	ck_assert_int_lt(g_get_monotonic_time() - began, 60 * G_USEC_PER_SEC);
	rmdir(dead);
}
END_TEST

/* Without descriptors none was asked: what is said of the first is said, and nothing of others. */
START_TEST(no_descriptors)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, limit.rlim_max}), 0);
	find("/", (const char *const[]){"/", "/proc", NULL}, 60000);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("paths");

	tcase_add_test(tcase, the_first_that_is_silent);
	tcase_add_test(tcase, no_descriptors);
	return run_tcase(tcase);
}
