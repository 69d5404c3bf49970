/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "tests/suite.h"

/* ns; 0 where Linux does not tell. */
static uint64_t slice_of_mine(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice_value;
		uint32_t priority;
		uint64_t slice, deadline, period;
	} attr = {0};

	ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0), 0);
	return attr.slice;
}

struct slices {
	uint64_t before, background, unhurried, after;
};

static void *slices_of_mine(void *arg)
{
	struct slices *slices = arg;

	slices->before = slice_of_mine();
	thread_background(true);
	slices->background = slice_of_mine();
	thread_background(false);
	thread_unhurried(true);
	slices->unhurried = slice_of_mine();
	thread_unhurried(false);
	slices->after = slice_of_mine();
	return NULL;
}

/* Who comes meanwhile does not wait long. */
START_TEST(has_short_slices)
{
	struct slices slices;
	pthread_t thread;

	ck_assert(thread_prepare());
	ck_assert_int_eq(pthread_create(&thread, NULL, slices_of_mine, &slices), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(slices.after, slices.before);
	if (slices.before == 0)
		return; /* before 6.12 */
	ck_assert_uint_lt(slices.background, slices.before);
	ck_assert_uint_lt(slices.unhurried, slices.before);
}
END_TEST

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

struct values {
	bool raised, prepared;
	int before, unhurried, after;
};

static void *nice_of_mine(void *arg)
{
	struct values *values = arg;

	values->prepared = thread_prepare();
	values->before = getpriority(PRIO_PROCESS, 0);
	thread_unhurried(false);
	thread_unhurried(true);
	values->unhurried = getpriority(PRIO_PROCESS, 0);
	thread_unhurried(false);
	values->after = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

/* As under systemd.  Only this thread is without it. */
static void *without_sys_nice(void *arg)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct sets[2];
	const struct rlimit enough = {40, 40}, none = {0, 40};
	struct values *values = arg;

	if (syscall(SYS_capget, &header, sets) < 0)
		return NULL;
	sets[0].effective &= ~(1u << CAP_SYS_NICE);
	if (syscall(SYS_capset, &header, sets) < 0)
		return NULL;
	values->raised = setrlimit(RLIMIT_NICE, &enough) == 0 && setrlimit(RLIMIT_NICE, &none) == 0;
	return nice_of_mine(values);
}

static struct values run(void *(*body)(void *))
{
	struct values values = {.before = 1000};
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, body, &values), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(values.before, getpriority(PRIO_PROCESS, 0));
	ck_assert_int_eq(values.after, values.before);
	return values;
}

START_TEST(has_less_weight_and_returns)
{
	struct values values = run(nice_of_mine);

	ck_assert(values.prepared);
	ck_assert_int_gt(values.unhurried, values.before);
}
END_TEST

/* Who could not return does not go. */
START_TEST(has_less_weight_only_if_it_can_return)
{
	struct values values = run(without_sys_nice);

	ck_assert_int_eq(values.prepared, values.raised);
	ck_assert_int_eq(values.unhurried > values.before, values.raised);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("thread");

	tcase_add_test(tcase, of_a_thread_only);
	tcase_add_test(tcase, of_another_policy);
	tcase_add_test(tcase, has_short_slices);
	tcase_add_test(tcase, has_less_weight_and_returns);
	tcase_add_test(tcase, has_less_weight_only_if_it_can_return);
	return run_tcase(tcase);
}
