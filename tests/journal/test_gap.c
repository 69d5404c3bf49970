/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/gap.h"

#include <string.h>

#include "journal/store/live.h"
#include "tests/suite.h"

#define SECOND INT64_C(1000000000)

static struct journal_durable seen_until_now(void)
{
	struct journal_durable state = {.gap = INT64_MAX, .since = 1};

	gap_seen(&state, journal_realtime(), journal_boottime());
	return state;
}

START_TEST(each_start_is_one)
{
	struct journal_durable state = seen_until_now();

	gap_start(&state);
	ck_assert_int_eq(state.gap, state.seen);
	ck_assert_str_eq(state.reason, "start");
	ck_assert_int_lt(gap_from(&state), state.seen - 100 * SECOND);
	gap_close(&state, INT64_MAX);
	ck_assert_int_eq(gap_from(&state), INT64_MAX);
	ck_assert_int_gt(state.filled, 0);
	ck_assert_uint_eq(state.gaps, 1);
}
END_TEST

START_TEST(one_in_another)
{
	struct journal_durable state = seen_until_now();

	gap_open(&state, 500 * SECOND, "overflow");
	gap_open(&state, 700 * SECOND, "start");
	ck_assert_int_eq(state.gap, 500 * SECOND);
	ck_assert(gap_lower(&state, 100 * SECOND));
	ck_assert_int_eq(state.gap, 400 * SECOND);
	ck_assert(gap_lower(&state, 1000 * SECOND));
	ck_assert_int_eq(gap_from(&state), 0);
	gap_close(&state, INT64_MAX);
	ck_assert(!gap_lower(&state, SECOND));
	gap_open(&state, -5, "start");
	ck_assert_int_eq(state.gap, 0);
}
END_TEST

/* What others did on the old server is told by a clock that was right about the switch. */
START_TEST(the_clock_was_set_back)
{
	struct journal_durable state = seen_until_now();

	gap_clock(&state, 3 * SECOND + 1);
	ck_assert_uint_eq(state.back, 4);
	state.seen += 1000 * SECOND;
	gap_start(&state);
	ck_assert_str_eq(state.reason, "clock");
	ck_assert_uint_ge(state.back, 4 + 999);
	gap_begin(&state);
	ck_assert_uint_eq(state.back, 0);
	/* set forward again, it is right: by whole seconds, and never by more than it was set back
	 */
	gap_clock(&state, 10 * SECOND);
	gap_clock(&state, -4 * SECOND + 1);
	ck_assert_uint_eq(state.back, 7);
	gap_clock(&state, -100 * SECOND);
	ck_assert_uint_eq(state.back, 0);
	gap_clock(&state, SECOND);
	ck_assert_uint_eq(state.back, 1);
}
END_TEST

START_TEST(another_boot)
{
	struct journal_durable state = seen_until_now();

	strcpy(state.boot, "another");
	gap_start(&state);
	ck_assert_int_eq(state.gap, state.seen - 3600 * SECOND);
	ck_assert_str_eq(state.reason, "reboot");
}
END_TEST

/* It was an hour later than it is, or is said to have been. */
START_TEST(clock_set_back)
{
	struct journal_durable state = seen_until_now();

	state.seen += 3600 * SECOND;
	gap_start(&state);
	ck_assert_int_eq(state.gap, 0);
	ck_assert_str_eq(state.reason, "clock");
	/* Ten hours went by, of which the clock shows nine. */
	state = seen_until_now();
	state.boottime -= 36000 * SECOND;
	state.seen -= 32400 * SECOND;
	gap_start(&state);
	ck_assert_int_le(state.gap, state.seen - 3599 * SECOND);
	ck_assert_str_eq(state.reason, "clock");
	/* It was set forward, or steered a little. */
	state = seen_until_now();
	state.boottime -= 10000 * SECOND;
	state.seen -= 9995 * SECOND;
	gap_start(&state);
	ck_assert_int_eq(state.gap, state.seen);
	ck_assert_str_eq(state.reason, "start");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("gap");

	tcase_add_test(tcase, each_start_is_one);
	tcase_add_test(tcase, one_in_another);
	tcase_add_test(tcase, the_clock_was_set_back);
	tcase_add_test(tcase, another_boot);
	tcase_add_test(tcase, clock_set_back);
	return run_tcase(tcase);
}
