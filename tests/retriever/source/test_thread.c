/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <pthread.h>
#include <sched.h>

#include "suite.h"
#include "source/thread.h"

static void *policy_of_mine(void *policy)
{
	thread_background(true);
	*(int *)policy = sched_getscheduler(0);
	thread_background(false);
	if (sched_getscheduler(0) != SCHED_OTHER)
		*(int *)policy = -1;
	return NULL;
}

START_TEST(of_a_thread_only)
{
	pthread_t thread;
	int policy;

	ck_assert_int_eq(pthread_create(&thread, NULL, policy_of_mine, &policy), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(policy, SCHED_BATCH);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
	thread_background(false);
	ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
}
END_TEST

/* What an administrator chose stays. */
START_TEST(of_another_policy)
{
	const struct sched_param param = {0};
	int in_background, after;

	ck_assert_int_eq(sched_setscheduler(0, SCHED_IDLE, &param), 0);
	thread_background(true);
	in_background = sched_getscheduler(0);
	thread_background(false);
	after = sched_getscheduler(0);
	/* on a busy machine the end of an idle process takes minutes */
	ck_assert_int_eq(sched_setscheduler(0, SCHED_OTHER, &param), 0);
	ck_assert_int_eq(in_background, SCHED_IDLE);
	ck_assert_int_eq(after, SCHED_IDLE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("thread");
	TCase *tcase = tcase_create("thread");

	tcase_add_test(tcase, of_a_thread_only);
	tcase_add_test(tcase, of_another_policy);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
