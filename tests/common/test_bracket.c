/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>

#include "common/migrate.h"
#include "tests/common/support.h"

enum { B = MIGRATE_STEP_BEGIN, C = MIGRATE_STEP_CHANGE, E = MIGRATE_STEP_END };

/* What each step returns, and which step it must have been. */
struct turn {
	int step, status;
};

/* Walks through; the answer's status. */
static int walk(bool once, unsigned ms, const struct turn *turns, size_t n)
{
	struct migrate_bracket bracket = {.once = once, .until = migrate_in_ms(ms)};

	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(bracket.step, turns[i].step);
		ck_assert_int_eq(migrate_bracket_next(&bracket, turns[i].status), bracket.step);
	}
	ck_assert_int_eq(bracket.step, MIGRATE_STEP_ANSWER);
	return bracket.status;
}

#define WALK(once, ms, ...)                                                                        \
	walk(once, ms, (const struct turn[]){__VA_ARGS__},                                         \
	     sizeof((const struct turn[]){__VA_ARGS__}) / sizeof(struct turn))

START_TEST(once_through)
{
	for (int once = 0; once < 2; once++) {
		ck_assert_int_eq(WALK(once, 60000, {B, 0}, {C, 0}, {E, 0}), 0);
		ck_assert_int_eq(WALK(once, 60000, {B, -EAGAIN}), -EAGAIN);
		/* the change's own error is the answer, whatever the end says */
		ck_assert_int_eq(WALK(once, 60000, {B, 0}, {C, -EIO}, {E, -EAGAIN}), 0);
	}
}
END_TEST

START_TEST(a_change_is_made_again)
{
	ck_assert_int_eq(WALK(false, 60000, {B, -ECONNRESET}, {B, 0}, {C, 0}, {E, -ECONNRESET},
			      {B, 0}, {C, 0}, {E, 0}),
			 0);
	/* it may have been half undone since: the client is told to come back */
	ck_assert_int_eq(WALK(false, 60000, {B, 0}, {C, 0}, {E, -ECONNRESET}, {B, -EAGAIN}),
			 -EAGAIN);
	ck_assert_int_eq(WALK(false, 60000, {B, 0}, {C, 0}, {E, -EAGAIN}), -EAGAIN);
	/* the second attempt counts */
	ck_assert_int_eq(WALK(false, 60000, {B, 0}, {C, -EIO}, {E, -ECONNRESET}, {B, 0}, {C, 0},
			      {E, -EAGAIN}),
			 -EAGAIN);
}
END_TEST

START_TEST(what_can_be_made_once_is_made_once)
{
	ck_assert_int_eq(WALK(true, 60000, {B, -ECONNRESET}, {B, 0}, {C, 0}, {E, -ECONNRESET},
			      {B, 0}, {E, 0}),
			 0);
	ck_assert_int_eq(WALK(true, 60000, {B, 0}, {C, 0}, {E, -ECONNRESET}, {B, -EAGAIN}), 0);
	ck_assert_int_eq(WALK(true, 60000, {B, 0}, {C, 0}, {E, -EAGAIN}), 0);
	ck_assert_int_eq(WALK(true, 60000, {B, 0}, {C, -EEXIST}, {E, -ECONNRESET}, {B, 0}, {E, 0}),
			 0);
}
END_TEST

START_TEST(gives_up_in_time)
{
	ck_assert_int_eq(WALK(false, 0, {B, -ECONNRESET}), -ECONNRESET);
	ck_assert_int_eq(WALK(false, 0, {B, 0}, {C, 0}, {E, -ECONNRESET}), -ECONNRESET);
	ck_assert_int_eq(WALK(true, 0, {B, 0}, {C, 0}, {E, -ECONNRESET}), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("bracket");

	tcase_add_test(tcase, once_through);
	tcase_add_test(tcase, a_change_is_made_again);
	tcase_add_test(tcase, what_can_be_made_once_is_made_once);
	tcase_add_test(tcase, gives_up_in_time);
	return run_tcase(tcase);
}
