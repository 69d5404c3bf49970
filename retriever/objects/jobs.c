/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/jobs.h"

#include "lib/base/thread.h"
#include "lib/source/trace.h"

static const int threads[JOB_KINDS] = {
	[JOB_BACKGROUND] = 4,  [JOB_DEMAND] = 4, [JOB_FLUSH] = 8, [JOB_FIND] = 4,
	[JOB_FIND_DEMAND] = 4, [JOB_OLD] = 4,	 [JOB_SLOW] = 1,
};

struct jobs {
	GThreadPool *pools[JOB_KINDS]; /* of struct job */
	GMutex lock;		       /* a leaf */
	GCond done;
	unsigned n; /* of all pools, queued or running */
};

struct job {
	struct jobs *jobs;
	enum job_kind kind;
	void (*fn)(void *arg);
	void *arg;
	struct trace_id trace; /* who started it */
};

static void run_job(gpointer data, gpointer user)
{
	struct job *job = data;
	struct jobs *jobs = job->jobs;
	bool background = job->kind == JOB_BACKGROUND || job->kind == JOB_SLOW;

	/* the pools share their threads */
	thread_background(background);
	thread_unhurried(background);
	trace_enter(job->trace);
	job->fn(job->arg);
	g_slice_free(struct job, job);
	g_mutex_lock(&jobs->lock);
	if (--jobs->n == 0)
		g_cond_broadcast(&jobs->done);
	g_mutex_unlock(&jobs->lock);
}

void jobs_run(struct jobs *jobs, enum job_kind kind, void (*fn)(void *arg), void *arg)
{
	struct job *job = g_slice_new(struct job);

	*job = (struct job){jobs, kind, fn, arg, trace_current()};
	g_mutex_lock(&jobs->lock);
	jobs->n++;
	g_mutex_unlock(&jobs->lock);
	g_thread_pool_push(jobs->pools[kind], job, NULL);
}

void jobs_wait(struct jobs *jobs)
{
	g_mutex_lock(&jobs->lock);
	while (jobs->n)
		g_cond_wait(&jobs->done, &jobs->lock);
	g_mutex_unlock(&jobs->lock);
}

struct jobs *jobs_new(void)
{
	struct jobs *jobs = g_new0(struct jobs, 1);

	g_mutex_init(&jobs->lock);
	g_cond_init(&jobs->done);
	for (int i = 0; i < JOB_KINDS; i++)
		jobs->pools[i] = g_thread_pool_new(run_job, NULL, threads[i], FALSE, NULL);
	return jobs;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	for (int i = 0; i < JOB_KINDS; i++)
		g_thread_pool_free(jobs->pools[i], FALSE, TRUE);
	g_mutex_clear(&jobs->lock);
	g_cond_clear(&jobs->done);
	g_free(jobs);
}
