/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include "retriever/progress/rates.h"

static struct core core;

/* The rates count from the first sample, which is taken when the volume is opened. */
START_TEST(follow_the_counters)
{
	gint64 start, us;
	int64_t files, bytes;

	start = g_get_monotonic_time();
	core_make(&core);
	core_open(&core);
	COUNT_ADD(core.retriever, files_whole, 3000);
	COUNT_ADD(core.retriever, bytes_fetched, 5000000);
	files = rates_files(core.retriever->rates);
	bytes = rates_bytes(core.retriever->rates);
	us = g_get_monotonic_time() - start + G_USEC_PER_SEC; /* since before the first sample */
	ck_assert_int_ge(files, (int64_t)3000 * G_USEC_PER_SEC / us);
	ck_assert_int_ge(bytes, (int64_t)5000000 * G_USEC_PER_SEC / us);
	core_free(&core);
}
END_TEST

START_TEST(nothing_moves)
{
	core_make(&core);
	core_open(&core);
	ck_assert_int_eq(rates_files(core.retriever->rates), 0);
	ck_assert_int_eq(rates_bytes(core.retriever->rates), 0);
	core_free(&core);
}
END_TEST

START_TEST(less_than_before)
{
	core_make(&core);
	core_open(&core);
	COUNT_ADD(core.retriever, files_whole, -3000);
	COUNT_ADD(core.retriever, bytes_fetched, -5000000);
	ck_assert_int_eq(rates_files(core.retriever->rates), 0);
	ck_assert_int_eq(rates_bytes(core.retriever->rates), 0);
	core_free(&core);
}
END_TEST

/* Nothing can be told of names that are not known, nor at once. */
START_TEST(what_is_left)
{
	core_make(&core);
	core_open(&core);
	ck_assert_str_eq(rates_rest(core.retriever->rates).reason, "not every directory is filled");
	COUNT_SET(core.retriever, exact, 1);
	COUNT_SET(core.retriever, unfilled, 0);
	ck_assert_ptr_null(rates_rest(core.retriever->rates).reason); /* all of nothing */
	ck_assert_int_eq(rates_rest(core.retriever->rates).seconds, 0);
	COUNT_ADD(core.retriever, files_found, 10);
	ck_assert_str_eq(rates_rest(core.retriever->rates).reason,
			 "it has worked for less than a minute");
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rates", 30);

	tcase_add_test(tcase, follow_the_counters);
	tcase_add_test(tcase, nothing_moves);
	tcase_add_test(tcase, less_than_before);
	tcase_add_test(tcase, what_is_left);
	return run_tcase(tcase);
}
