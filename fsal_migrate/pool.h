/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A few threads of the module: they complete parked requests, so that no thread of the protocol
 * layer has to wait for these, and they run timers.
 */
#ifndef FSAL_MIGRATE_POOL_H
#define FSAL_MIGRATE_POOL_H

#include <stdbool.h>
#include <time.h>

#include "gsh_list.h"

struct mg_job {
	struct glist_head link;
	void (*run)(struct mg_job *job); /* may free the job */
};

struct mg_timer {
	struct glist_head link;
	struct timespec at;
	bool armed;
	void (*fire)(struct mg_timer *timer); /* in the timers' thread: must not block */
};

/* To be called for every export; the first call starts the threads.  0 or -errno. */
int mg_pool_start(unsigned workers);
/* To be called for every export that goes; the last call stops the threads, after the jobs that are
 * queued. */
void mg_pool_stop(void);
/* Stops the threads in any case: the module is about to be unloaded. */
void mg_pool_kill(void);

void mg_pool_submit(struct mg_job *job);

/* at: CLOCK_MONOTONIC.  The timer must not be armed. */
void mg_timer_arm(struct mg_timer *timer, struct timespec at);
/* true: it was armed and will not fire.  false: it fires now, has fired, or was never armed. */
bool mg_timer_disarm(struct mg_timer *timer);

#endif
