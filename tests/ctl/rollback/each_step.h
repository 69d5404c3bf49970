/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same run of the way back, ended after each of its steps. */
#ifndef TESTS_CTL_ROLLBACK_EACH_STEP_H
#define TESTS_CTL_ROLLBACK_EACH_STEP_H

#include "tests/ctl/rollback/ended.h"

static inline void change_nothing(void)
{
}

static void (*check)(void) = same_trees;

/* In a process of its own, for its mounts.  Whether the step was reached. */
static inline void end_at(unsigned number, void (*before)(void), void (*after)(void))
{
	before();
	ck_assert_int_eq(go_to_step(number), number && !asked ? SIGKILL : 0);
	shared->first = shared->steps;
	after();
	go_back(0);
	check();
	sh("test ! -e " OLD_TREE "/" TARGET_STAGE);
}

static inline void end_at_steps(unsigned apart, void (*before)(void), void (*after)(void))
{
	unsigned steps = 1;

	share_steps();
	for (unsigned i = 0; i <= steps; i += i ? apart : 1) {
		pid_t pid;

		start(&pid);
		if (!pid) {
			end_at(i, before, after);
			exit(0);
		}
		int status = end_of(pid);
		ck_assert_msg(status == 0, "ended after step %u of %u", i, steps);
		if (!i)
			steps = shared->first;
	}
	ck_assert_uint_ge(steps, 10);
}

#endif
