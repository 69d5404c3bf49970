/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same run of the way back, ended after each of its steps, or while each of them fails. */
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

/* Calls at for no step, then for each so many steps, in a process of its own. */
static inline void each_step(unsigned apart, unsigned least,
			     void (*at)(unsigned number, void (*before)(void), void (*after)(void)),
			     void (*before)(void), void (*after)(void))
{
	unsigned steps = 1;

	share_steps();
	for (unsigned i = 0; i <= steps; i += i ? apart : 1) {
		pid_t pid;

		start(&pid);
		if (!pid) {
			at(i, before, after);
			exit(0);
		}
		const int status = end_of(pid);
		ck_assert_msg(status == 0, "at step %u of %u", i, steps);
		steps = i ? steps : shared->first;
	}
	ck_assert_uint_ge(steps, least);
}

static inline void end_at_steps(unsigned apart, void (*before)(void), void (*after)(void))
{
	each_step(apart, 10, end_at, before, after);
}

static unsigned fails_next; /* the step of the run after it that fails, too; 0: none */

/* What was not done is a line, or another way was found. */
static inline void failing_run(unsigned number)
{
	GError *error = NULL;
	struct way way;
	bool good;

	way_begin_run(&way);
	shared->steps = 0;
	shared->end_at = number;
	failure = -EIO;
	good = rollback_windows(way.tree, &way.plan, &stop_now, &way.done, &error) &&
	       leftovers_tell(way.tree, &error);
	failure = 0;
	shared->end_at = 0;
	const bool told = error || way.tree->conflicts->len;
	ck_assert(good == !error);
	way_end_run(&way);
	if (!told)
		same_trees();
}

static bool opens; /* what a failed step left is being written to during the next run */

/* Whoever writes there does not lose it. */
static inline void run_while_open(void)
{
	GDir *dir = g_dir_open(OLD_TREE "/" TARGET_STAGE, 0, NULL);
	const char *name;
	struct stat st;
	int fds[16];
	unsigned n = 0;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(OLD_TREE, TARGET_STAGE, name, NULL);

		if (!strchr("od", *name) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		ck_assert_uint_lt(n, G_N_ELEMENTS(fds));
		fds[n] = open(path, O_WRONLY | O_CLOEXEC);
		ck_assert_int_ge(fds[n++], 0);
	}
	if (dir)
		g_dir_close(dir);
	failing_run(0);
	while (n > 0) {
		ck_assert_int_eq(fstat(fds[--n], &st), 0);
		ck_assert_uint_ge(st.st_nlink, 1);
		close(fds[n]);
	}
}

/* The next run does it, and leaves nothing over. */
static inline void fail_at(unsigned number, void (*before)(void), void (*after)(void))
{
	before();
	failing_run(number);
	shared->first = shared->steps;
	if (opens)
		run_while_open();
	if (fails_next)
		failing_run(fails_next);
	go_back_whole();
	sh("test ! -e " OLD_TREE "/" TARGET_STAGE);
}

static inline void fail_at_steps(unsigned apart, void (*before)(void))
{
	each_step(apart, 30, fail_at, before, NULL);
}

#endif
