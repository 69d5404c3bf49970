/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include <sys/resource.h>

#include "lib/base/thread.h"

static struct core core;

#define GENERATIONS 1000

static struct jobs *jobs;
static atomic_uint left;

static void start_another(void *arg)
{
	unsigned n = atomic_fetch_sub(&left, 1) - 1;

	if (n) {
		sched_yield();
		jobs_run(jobs, n % JOB_KINDS, start_another, NULL);
	}
}

START_TEST(jobs_that_start_jobs)
{
	jobs = jobs_new();
	jobs_wait(jobs); /* there is none */
	atomic_store(&left, GENERATIONS);
	jobs_run(jobs, JOB_SLOW, start_another, NULL);
	jobs_wait(jobs);
	ck_assert_uint_eq(atomic_load(&left), 0);
	jobs_free(jobs);
	jobs_free(NULL);
}
END_TEST

static GMutex busy;

static void keep_busy(void *arg)
{
	g_mutex_lock(&busy);
	g_mutex_unlock(&busy);
}

/* I11: names, listings, reads and changes of clients while every worker has long work of the
 * crawler's to do. */
START_TEST(i11_demand_has_workers_of_its_own)
{
	uint64_t id;
	int f, d, root;

	core_make(&core);
	core_source_file(&core, "f", 200 * KIB, 1);
	core_source_file(&core, "d/x", 100, 3);
	core_start(&core);
	root = core_root(&core);
	g_mutex_lock(&busy);
	for (unsigned i = 0; i < 64; i++)
		jobs_run(core.retriever->jobs, JOB_BACKGROUND, keep_busy, NULL);
	f = core_find(&core, "f", O_RDWR);
	d = core_find(&core, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, d, 0)), 0);
	ck_assert_int_eq(core_wait(core_ask_fill(&core, root, 0)), 0);
	ck_assert_int_eq(core_range(&core, f, 0, UINT64_MAX), 0);
	ck_assert_int_eq(core_begin(&core, f, -1, MIGRATE_WRITE, 0, 10, &id), 0);
	ck_assert_int_eq(core_end(&core, id, true, true, 0, 10), 0);
	g_mutex_unlock(&busy);
	close(f);
	close(d);
	core_free_with(&core, root);
}
END_TEST

static void note_nice(void *nice)
{
	*(int *)nice = getpriority(PRIO_PROCESS, 0);
}

static int nice_in(enum job_kind kind)
{
	int nice;

	jobs = jobs_new();
	jobs_run(jobs, kind, note_nice, &nice);
	jobs_wait(jobs);
	jobs_free(jobs); /* its threads are those of the next */
	return nice;
}

START_TEST(background_has_less_weight)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	ck_assert(thread_prepare());
	for (unsigned round = 0; round < 20; round++) {
		ck_assert_int_gt(nice_in(JOB_BACKGROUND), nice);
		ck_assert_int_eq(nice_in(JOB_DEMAND), nice);
		ck_assert_int_gt(nice_in(JOB_SLOW), nice);
		ck_assert_int_eq(nice_in(JOB_FIND_DEMAND), nice);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("jobs", 60);

	tcase_add_test(tcase, jobs_that_start_jobs);
	tcase_add_test(tcase, i11_demand_has_workers_of_its_own);
	tcase_add_test(tcase, background_has_less_weight);
	return run_tcase(tcase);
}
