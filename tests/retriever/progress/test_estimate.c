/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stddef.h>

#include <check.h>

#include "retriever/progress/estimate.h"
#include "tests/suite.h"

static struct estimate *estimate;

static void begin(void)
{
	estimate = estimate_new();
}

static void end(void)
{
	estimate_free(estimate);
}

/* A second each. */
static void work(unsigned seconds, int64_t files, int64_t bytes)
{
	for (unsigned i = 0; i < seconds; i++)
		estimate_add(estimate, 1, files, bytes, files + 1);
}

static void tells(int64_t files, int64_t bytes, int64_t low, int64_t seconds, int64_t high)
{
	struct estimate_time told = estimate_tell(estimate, files, bytes);

	ck_assert_ptr_null(told.reason);
	ck_assert_int_eq(told.seconds, seconds);
	ck_assert_int_eq(told.low, low);
	ck_assert_int_eq(told.high, high);
}

START_TEST(too_early)
{
	ck_assert_ptr_nonnull(estimate_tell(estimate, 1, 1).reason);
	ck_assert(!(estimate_bandwidth(estimate) > 0));
	work(4 * ESTIMATE_WINDOW - 1, 10, 1000);
	ck_assert_ptr_nonnull(estimate_tell(estimate, 1, 1).reason);
	work(1, 10, 1000);
	ck_assert_ptr_null(estimate_tell(estimate, 1, 1).reason);
	tells(0, 0, 0, 0, 0);
}
END_TEST

/* What there is most of counts. */
START_TEST(files_and_bytes)
{
	work(600, 10, 1000);
	tells(1000, 1, 90, 100, 110);
	tells(1, 1000000, 900, 1000, 1100);
	tells(-5, -5, 0, 0, 0);
	ck_assert_int_eq((int)estimate_bandwidth(estimate), 1000);
	ck_assert_int_eq((int)estimate_requests(estimate), 11);
}
END_TEST

START_TEST(how_sure)
{
	for (unsigned i = 0; i < 4; i++) {
		work(75, 10, 0);
		work(75, 20, 0);
	}
	tells(3000, 0, 150, 200, 300);
	ck_assert_str_eq(estimate_tell(estimate, 1, 1).reason, "nothing comes");
}
END_TEST

START_TEST(too_much_change)
{
	for (unsigned i = 0; i < 4; i++) {
		work(75, 1000, 0);
		work(75, 1, 0);
	}
	ck_assert_str_eq(estimate_tell(estimate, 1000000, 0).reason, "the rate changes too much");
}
END_TEST

/* No file was finished meanwhile, and each second brings its part nearer. */
START_TEST(a_large_file)
{
	work(600, 0, 1000);
	tells(1, 1000000, 900, 1000, 1100);
	tells(1, 100000, 90, 100, 110);
}
END_TEST

/* What is long ago does not count, nor a counter that is set back. */
START_TEST(what_was)
{
	work(1000, 1, 0);
	estimate_add(estimate, 1, -100000, -1, -1);
	estimate_add(estimate, 0, 100000, 1, 1);
	estimate_add(estimate, -1, 100000, 1, 1);
	work(615, 10, 0);
	tells(1000, 0, 90, 100, 110);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, too_early);
	tcase_add_test(tcase, files_and_bytes);
	tcase_add_test(tcase, how_sure);
	tcase_add_test(tcase, too_much_change);
	tcase_add_test(tcase, a_large_file);
	tcase_add_test(tcase, what_was);
	return run_tcase(tcase);
}
