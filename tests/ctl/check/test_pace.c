/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/pace.h"
#include "tests/retriever/core_tsan.h"
#include "tests/suite.h"

/* Not more than the rate, however long it took before. */
START_TEST(a_rate)
{
	struct pace pace;
	gint64 began;

	pace_init(&pace, 1000);
	began = g_get_monotonic_time();
	for (unsigned i = 0; i < 120; i++)
		ck_assert(pace_wait(&pace));
	ck_assert_int_ge(g_get_monotonic_time() - began, 95000);
	ck_assert_uint_eq(pace_requests(&pace), 120);
	pace_clear(&pace);
}
END_TEST

/* What goes at once has others wait longer. */
START_TEST(counted)
{
	struct pace pace;
	gint64 began;

	pace_init(&pace, 1000);
	began = g_get_monotonic_time();
	for (unsigned i = 0; i < 120; i++)
		pace_count(&pace);
	ck_assert(pace_wait(&pace));
	ck_assert_int_ge(g_get_monotonic_time() - began, 95000);
	pace_clear(&pace);
}
END_TEST

static gpointer stop_it(gpointer pace)
{
	pace_stop(pace);
	return NULL;
}

START_TEST(stopped)
{
	struct pace pace;
	GThread *thread;

	pace_init(&pace, 1);
	ck_assert(pace_wait(&pace));
	for (unsigned i = 0; i < 1000; i++)
		pace_count(&pace);
	thread = g_thread_new("stop", stop_it, &pace);
	ck_assert(!pace_wait(&pace));
	g_thread_join(thread);
	ck_assert(!pace_wait(&pace));
	pace_clear(&pace);
}
END_TEST

START_TEST(no_rate)
{
	struct pace pace;

	pace_init(&pace, 0);
	for (unsigned i = 0; i < 100000; i++)
		ck_assert(pace_wait(&pace));
	pace_clear(&pace);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pace");
	TCase *tcase = tcase_create("pace");

	tcase_add_test(tcase, a_rate);
	tcase_add_test(tcase, counted);
	tcase_add_test(tcase, stopped);
	tcase_add_test(tcase, no_rate);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
