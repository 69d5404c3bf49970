/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads that work on the local tree.  Each pool is for jobs that may wait for the same
 * things. */
#ifndef RETRIEVER_OBJECTS_JOBS_H
#define RETRIEVER_OBJECTS_JOBS_H

#include <glib.h>

enum job_kind {
	JOB_BACKGROUND,	 /* a page of a listing keeps these busy for a while */
	JOB_DEMAND,	 /* only what a client waits for (I11) */
	JOB_FLUSH,	 /* may block for the disk */
	JOB_FIND,	 /* may wait for the old server */
	JOB_FIND_DEMAND, /* as JOB_FIND, for jobs that a client waits for (I11) */
	JOB_OLD,	 /* may wait for the old server and for fills (old_directory.h) */
	JOB_SLOW,	 /* one thread: walks of the whole tree, waits of minutes */
	JOB_KINDS
};

struct jobs;

struct jobs *jobs_new(void);
/* Runs fn(arg) on a thread of that pool.  Any thread; jobs may start jobs. */
void jobs_run(struct jobs *jobs, enum job_kind kind, void (*fn)(void *arg), void *arg);
/* Blocks until no job is queued and no job runs, so that no job can start another. */
void jobs_wait(struct jobs *jobs);
/* After jobs_wait().  NULL is fine. */
void jobs_free(struct jobs *jobs);

#endif
