/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A place to wait for one request of libmigrate while another thread dispatches: pass
 * migrate_waiter_done and the waiter, then migrate_waiter_wait(). */
#ifndef TESTS_WAITER_H
#define TESTS_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct migrate_waiter {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
	int status;
};

static inline struct migrate_waiter *migrate_waiter_new(void)
{
	struct migrate_waiter *waiter = calloc(1, sizeof(*waiter));

	pthread_mutex_init(&waiter->lock, NULL);
	pthread_cond_init(&waiter->changed, NULL);
	return waiter;
}

static inline void migrate_waiter_done(void *arg, int status)
{
	struct migrate_waiter *waiter = arg;

	pthread_mutex_lock(&waiter->lock);
	waiter->done = true;
	waiter->status = status;
	/* Under the lock: once it is released the other side may free. */
	pthread_cond_signal(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
}

/* The request's status.  Frees the waiter.  There is no deadline, and no descriptor to close. */
static inline int migrate_waiter_wait(struct migrate_waiter *waiter,
				      const struct timespec *deadline, int fd)
{
	int status;

	(void)deadline, (void)fd;
	pthread_mutex_lock(&waiter->lock);
	while (!waiter->done)
		pthread_cond_wait(&waiter->changed, &waiter->lock);
	status = waiter->status;
	pthread_mutex_unlock(&waiter->lock);
	pthread_cond_destroy(&waiter->changed);
	pthread_mutex_destroy(&waiter->lock);
	free(waiter);
	return status;
}

#endif
