/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A few threads of the module's own: they complete requests that were parked, so that no thread of
 * the protocol layer has to wait for them, and run timers.
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

/* For every export; the first starts the threads.  0 or -errno. */
int mg_pool_start(unsigned workers);
/* The last one stops them, after the jobs that are queued. */
void mg_pool_stop(void);
/* Whatever the number of exports: the module is about to be unloaded. */
void mg_pool_kill(void);

void mg_pool_submit(struct mg_job *job);

/* at: CLOCK_MONOTONIC.  The timer must not be armed. */
void mg_timer_arm(struct mg_timer *timer, struct timespec at);
/* true: it was armed and will not fire.  false: it fires, or did, or never was armed. */
bool mg_timer_disarm(struct mg_timer *timer);

#endif
