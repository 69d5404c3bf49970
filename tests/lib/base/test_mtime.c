/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <glib.h>

#include "common/record.h"
#include "lib/base/mtime.h"
#include "tests/suite.h"

#define NS(sec, nsec) ((int64_t)(sec)*1000000000 + (nsec))

START_TEST(times_as_tools_keep_them)
{
	static const struct {
		int64_t here, there;
		bool same;
	} cases[] = {
		{NS(9, 123456789), NS(9, 123456789), true},
		{NS(9, 123456788), NS(9, 123456789), false},
		{NS(9, 123456700), NS(9, 123456789), true},
		{NS(9, 123456800), NS(9, 123456789), false},
		{NS(9, 123456000), NS(9, 123456789), true},
		{NS(9, 123457000), NS(9, 123456789), false},
		{NS(9, 123000000), NS(9, 123456789), true},
		{NS(9, 124000000), NS(9, 123456789), false},
		{NS(9, 0), NS(9, 999999999), true},
		{NS(9, 0), NS(10, 0), false},
		{NS(10, 0), NS(9, 999999999), false},
		{NS(0, 0), NS(0, 0), true},
		{NS(-2, 0), NS(-2, 123456789), true},
		{NS(-1, 0), NS(-2, 123456789), false},
		{NS(-2, 123456789), NS(-2, 123456789), true},
		{NS(9, 500000000), NS(9, 600000000), false},
		{NS(5000000000, 1), NS(5000000000, 1), true},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(mtime_is(migrate_timespec(cases[i].here), cases[i].there) ==
				      cases[i].same,
			      "case %zu", i);
}
END_TEST

/* The first and the last second that the new file system keeps. */
START_TEST(times_that_cannot_be_kept)
{
	ck_assert(mtime_is((struct timespec){INT32_MAX, 0}, NS(5680281600, 7)));
	ck_assert(!mtime_is((struct timespec){INT32_MAX, 0}, NS(INT32_MAX - 1, 0)));
	ck_assert(mtime_is((struct timespec){INT32_MIN, 0}, INT64_MIN));
	ck_assert(!mtime_is((struct timespec){INT32_MIN, 0}, 0));
	ck_assert(!mtime_is_nearest((struct timespec){9, 0}, NS(9, 1)));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("mtime");

	tcase_add_test(tcase, times_as_tools_keep_them);
	tcase_add_test(tcase, times_that_cannot_be_kept);
	return run_tcase(tcase);
}
