/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>

#include "crawler/policy.h"
#include "tests/suite.h"

START_TEST(window_yields_and_returns)
{
	struct policy_window window;

	policy_window_init(&window, 8);
	ck_assert_uint_eq(window.size, 8);
	policy_window_feedback(&window, true);
	ck_assert_uint_eq(window.size, 4);
	policy_window_feedback(&window, false);
	ck_assert_uint_eq(window.size, 5);
	for (int i = 0; i < 5; i++)
		policy_window_feedback(&window, true);
	ck_assert_uint_eq(window.size, 1);
	for (int i = 0; i < 20; i++)
		policy_window_feedback(&window, false);
	ck_assert_uint_eq(window.size, 8);

	policy_window_init(&window, 0);
	ck_assert_uint_eq(window.size, 1);
}
END_TEST

START_TEST(orders)
{
	enum policy_order order = ORDER_NAMESPACE_FIRST;

	ck_assert(policy_order_parse("depth-first", &order) && order == ORDER_DEPTH_FIRST);
	ck_assert(policy_order_parse("namespace-first", &order) && order == ORDER_NAMESPACE_FIRST);
	ck_assert(policy_order_parse("recent-first", &order) && order == ORDER_RECENT_FIRST);
	ck_assert(!policy_order_parse("", &order));
	ck_assert(!policy_order_parse("depth", &order));
}
END_TEST

static const struct policy_result clean = {.advanced = 5};
static const struct policy_result whole = {.advanced = 5, .root_normal = true};
static const struct policy_result some_left = {.advanced = 5, .left = 2};
static const struct policy_result stuck = {.left = 2, .busy = true};
static const struct policy_result failed = {.left = 2};

START_TEST(namespace_first)
{
	struct policy policy = {.order = ORDER_NAMESPACE_FIRST};
	unsigned pause;

	ck_assert_int_eq(policy_next(&policy, NULL, false, &pause), STEP_NAMES);
	ck_assert_uint_eq(pause, 0);
	ck_assert_int_eq(policy_next(&policy, &clean, true, &pause), STEP_DATA);
	ck_assert_uint_eq(pause, 0);
	ck_assert_int_eq(policy_next(&policy, &whole, true, &pause), STEP_DONE);

	struct policy resumed = {.order = ORDER_NAMESPACE_FIRST};
	ck_assert_int_eq(policy_next(&resumed, NULL, true, &pause), STEP_DATA);
}
END_TEST

START_TEST(depth_first)
{
	struct policy policy = {.order = ORDER_DEPTH_FIRST};
	unsigned pause;

	ck_assert_int_eq(policy_next(&policy, NULL, false, &pause), STEP_DATA);
	ck_assert_int_eq(policy_next(&policy, &whole, false, &pause), STEP_DONE);
}
END_TEST

/* A pass that would bring nothing is left out, and the rest comes whatever is recent. */
START_TEST(recent_first)
{
	struct policy policy = {.order = ORDER_RECENT_FIRST};
	const struct policy_result week = {.advanced = 5, .days = 3};
	const struct policy_result month = {.advanced = 5, .left = 2, .days = 30};
	const struct policy_result year = {.advanced = 5, .days = 31};
	unsigned pause;

	ck_assert_int_eq(policy_next(&policy, NULL, true, &pause), STEP_RECENT);
	ck_assert_uint_eq(policy.days, 1);
	ck_assert_int_eq(policy_next(&policy, &week, true, &pause), STEP_RECENT);
	ck_assert_uint_eq(policy.days, 7);
	ck_assert_int_eq(policy_next(&policy, &month, true, &pause), STEP_RECENT);
	ck_assert_uint_eq(policy.days, 30);
	ck_assert_int_eq(policy_next(&policy, &year, true, &pause), STEP_DATA);
	ck_assert_int_eq(policy_next(&policy, &whole, true, &pause), STEP_DONE);

	for (unsigned i = 0; i < 2; i++) {
		struct policy cold = {.order = ORDER_RECENT_FIRST};

		policy_next(&cold, NULL, false, &pause);
		ck_assert_int_eq(policy_next(&cold, i ? &year : &clean, true, &pause), STEP_DATA);
	}
	struct policy late = {.order = ORDER_RECENT_FIRST};
	policy_next(&late, NULL, false, &pause);
	ck_assert_int_eq(policy_next(&late, &month, true, &pause), STEP_RECENT);
	ck_assert_uint_eq(late.days, 30);
	/* the same again is no progress, whatever a clock does */
	ck_assert_int_eq(policy_next(&late, &month, true, &pause), STEP_DATA);
	struct policy names = {.order = ORDER_RECENT_FIRST, .metadata_only = true};
	ck_assert_int_eq(policy_next(&names, NULL, false, &pause), STEP_NAMES);
}
END_TEST

START_TEST(metadata_only)
{
	struct policy policy = {.metadata_only = true};
	unsigned pause;

	ck_assert_int_eq(policy_next(&policy, NULL, false, &pause), STEP_NAMES);
	ck_assert_int_eq(policy_next(&policy, &clean, true, &pause), STEP_DONE);

	struct policy failing = {.metadata_only = true, .once = true};
	policy_next(&failing, NULL, false, &pause);
	ck_assert_int_eq(policy_next(&failing, &some_left, false, &pause), STEP_LEFT);
}
END_TEST

/* A copy lists what is below a directory that fails with each attempt at it. */
START_TEST(passes_that_bring_the_same)
{
	struct policy policy = {.order = ORDER_NAMESPACE_FIRST};
	unsigned pause, passes = 0;

	policy_next(&policy, NULL, false, &pause);
	while (policy_next(&policy, &some_left, false, &pause) == STEP_NAMES)
		ck_assert_uint_lt(++passes, 10);
	ck_assert_int_eq(policy.step, STEP_DATA);
	while (policy_next(&policy, &some_left, false, &pause) == STEP_DATA)
		ck_assert_uint_lt(++passes, 10);
	ck_assert_int_eq(policy.step, STEP_LEFT);
	ck_assert_uint_eq(passes, 4); /* each step three times */
}
END_TEST

/* What fails to get its names does not keep the data of the others waiting for ever. */
START_TEST(names_that_fail)
{
	struct policy policy = {.order = ORDER_NAMESPACE_FIRST};
	unsigned pause, passes = 0;

	policy_next(&policy, NULL, false, &pause);
	while (policy_next(&policy, &stuck, false, &pause) == STEP_NAMES)
		ck_assert_uint_lt(++passes, 10);
	ck_assert_int_eq(policy.step, STEP_DATA);
}
END_TEST

START_TEST(passes_that_bring_nothing)
{
	struct policy policy = {.order = ORDER_DEPTH_FIRST};
	unsigned pause, last = 0, passes = 0;

	policy_next(&policy, NULL, false, &pause);
	for (unsigned left = 51; left > 1; left--) {
		const struct policy_result fewer = {.advanced = 5, .left = left};

		ck_assert_int_eq(policy_next(&policy, &fewer, true, &pause), STEP_DATA);
	}
	while (policy_next(&policy, &stuck, true, &pause) == STEP_DATA) {
		ck_assert_uint_gt(pause, last);
		last = pause;
		ck_assert_uint_lt(++passes, 10);
	}
	ck_assert_uint_gt(passes, 0);
	ck_assert_int_eq(policy.step, STEP_LEFT);

	struct policy once = {.order = ORDER_DEPTH_FIRST, .once = true};
	policy_next(&once, NULL, false, &pause);
	ck_assert_int_eq(policy_next(&once, &some_left, true, &pause), STEP_LEFT);
}
END_TEST

/* What fails is tried twice, and not waited for. */
START_TEST(what_failed_is_not_waited_for)
{
	struct policy policy = {.order = ORDER_NAMESPACE_FIRST};
	unsigned pause;

	policy_next(&policy, NULL, false, &pause);
	ck_assert_int_eq(policy_next(&policy, &failed, false, &pause), STEP_DATA);
	ck_assert_uint_eq(pause, 0);
	ck_assert_int_eq(policy_next(&policy, &some_left, false, &pause), STEP_DATA);
	ck_assert_uint_le(pause, 1000);
	ck_assert_int_eq(policy_next(&policy, &failed, false, &pause), STEP_LEFT);
}
END_TEST

START_TEST(attempts_grow_apart)
{
	for (unsigned i = 2; i < POLICY_ATTEMPTS; i++)
		ck_assert_uint_gt(policy_attempt_pause(i), policy_attempt_pause(i - 1));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("policy");

	tcase_add_test(tcase, window_yields_and_returns);
	tcase_add_test(tcase, orders);
	tcase_add_test(tcase, namespace_first);
	tcase_add_test(tcase, depth_first);
	tcase_add_test(tcase, recent_first);
	tcase_add_test(tcase, metadata_only);
	tcase_add_test(tcase, names_that_fail);
	tcase_add_test(tcase, passes_that_bring_the_same);
	tcase_add_test(tcase, passes_that_bring_nothing);
	tcase_add_test(tcase, what_failed_is_not_waited_for);
	tcase_add_test(tcase, attempts_grow_apart);
	return run_tcase(tcase);
}
