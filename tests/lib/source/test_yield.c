/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <errno.h>

#include "lib/source/yield.h"
#include "tests/suite.h"

#define TARGET_MS 100
#define MS	  1000

static struct yield yield;
static gint64 now;

static void setup(void)
{
	now = 1;
	yield_init(&yield, TARGET_MS);
}

static void answer_of(enum backend_op op, enum backend_priority priority, uint32_t count,
		      gint64 took)
{
	const struct backend_request req = {.op = op, .priority = priority, .count = count};

	now += 100;
	yield_answer(&yield, &req, yield_window(&yield), took, now);
}

static void answers(unsigned n, gint64 took)
{
	for (unsigned i = 0; i < n; i++)
		answer_of(BACKEND_GETATTR, BACKEND_BACKGROUND, 0, took);
}

START_TEST(it_grows_while_nothing_waits)
{
	ck_assert_uint_eq(yield_window(&yield), YIELD_START);
	answers(100, 1 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_START + 100);
	answers(20000, 1 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_MAX);
}
END_TEST

START_TEST(it_shrinks_when_answers_wait)
{
	answers(200, 1 * MS);
	ck_assert_uint_gt(yield_window(&yield), 200);
	answers(3, 400 * MS); /* some late ones are chance */
	ck_assert_uint_gt(yield_window(&yield), 200);
	answers(4, 1 * MS);
	answers(600, 400 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_FLOOR);
	ck_assert_int_eq(yield.delay, 399 * MS);
	answers(100, 1 * MS);
	ck_assert_uint_gt(yield_window(&yield), 10); /* 1 + 1/2 + 1/3 ...: by one each round */
	ck_assert_uint_lt(yield_window(&yield), 30);
}
END_TEST

/* Half a round at most, so that one that was away does not cost more. */
START_TEST(it_shrinks_by_half_a_round)
{
	answers(200, 1 * MS);
	const unsigned before = yield_window(&yield);
	answers(3, 60000 * MS);
	answers(before, 60000 * MS);
	ck_assert_uint_ge(yield_window(&yield), before / 2);
}
END_TEST

/* Near the target it stays where it is. */
START_TEST(it_settles)
{
	unsigned window;

	answers(100, 1 * MS);
	answers(2000, (1 + TARGET_MS) * MS);
	window = yield_window(&yield);
	answers(2000, (1 + TARGET_MS) * MS);
	ck_assert_uint_eq(yield_window(&yield), window);
	ck_assert_uint_ge(window, 100);
}
END_TEST

/* A long read takes long, and a listing. */
START_TEST(kinds_are_told_apart)
{
	answers(100, 1 * MS);
	for (int i = 0; i < 100; i++)
		answer_of(BACKEND_READ, BACKEND_BACKGROUND, 1 << 12, 5 * MS);
	for (int i = 0; i < 100; i++)
		answer_of(BACKEND_READ, BACKEND_BACKGROUND, 1 << 20, 800 * MS);
	for (int i = 0; i < 100; i++)
		answer_of(BACKEND_READDIR, BACKEND_BACKGROUND, 0, 300 * MS);
	for (int i = 0; i < 100; i++)
		answer_of(BACKEND_XATTRS, BACKEND_BACKGROUND, 0, 150 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_START + 500);
	answer_of(BACKEND_READ, BACKEND_BACKGROUND, UINT32_MAX, 1);
}
END_TEST

/* What clients feel makes it smaller, and never larger. */
START_TEST(demand_is_measured)
{
	answer_of(BACKEND_LOOKUP, BACKEND_DEMAND, 0, 1 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_START);
	for (int i = 0; i < 300; i++)
		answer_of(BACKEND_LOOKUP, BACKEND_DEMAND, 0, 500 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_FLOOR);
}
END_TEST

/* What was its best is not for ever. */
START_TEST(ten_minutes_later)
{
	answers(10, 1 * MS);
	for (int minute = 0; minute < 9; minute++) {
		now += 60 * G_USEC_PER_SEC;
		answers(10, 500 * MS);
	}
	ck_assert_int_eq(yield.delay, 499 * MS);
	ck_assert_uint_lt(yield_window(&yield), YIELD_START);
	now += 120 * G_USEC_PER_SEC;
	answers(10, 500 * MS);
	ck_assert_int_eq(yield.delay, 0);
	now += (gint64)100000 * G_USEC_PER_SEC;
	answers(10, 900 * MS);
	ck_assert_int_eq(yield.delay, 0);
}
END_TEST

START_TEST(what_says_nothing)
{
	struct backend_request failed = {
		.op = BACKEND_GETATTR, .priority = BACKEND_BACKGROUND, .status = -ENOENT};

	answers(10, 1 * MS);
	for (int i = 0; i < 100; i++)
		yield_answer(&yield, &failed, 100, 900 * MS, ++now);
	ck_assert_uint_eq(yield_window(&yield), YIELD_START + 10);
	failed.status = 0;
	for (int i = 0; i < 100; i++) /* nobody uses the window */
		yield_answer(&yield, &failed, 1, 1, ++now);
	ck_assert_uint_eq(yield_window(&yield), YIELD_START + 10);
	yield_init(&yield, 0);
	answers(10, 1 * MS);
	answers(100, 9000 * MS);
	ck_assert_uint_eq(yield_window(&yield), YIELD_MAX);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("yield");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, it_grows_while_nothing_waits);
	tcase_add_test(tcase, it_shrinks_when_answers_wait);
	tcase_add_test(tcase, it_shrinks_by_half_a_round);
	tcase_add_test(tcase, it_settles);
	tcase_add_test(tcase, kinds_are_told_apart);
	tcase_add_test(tcase, demand_is_measured);
	tcase_add_test(tcase, ten_minutes_later);
	tcase_add_test(tcase, what_says_nothing);
	return run_tcase(tcase);
}
