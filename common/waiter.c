/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "migrate.h"

struct migrate_waiter {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
	bool given_up; /* nobody waits any more: the reply's side frees */
	int status;
	int fd; /* closed by the reply's side when given up; -1: none */
};

struct migrate_waiter *migrate_waiter_new(void)
{
	struct migrate_waiter *waiter = calloc(1, sizeof(*waiter));
	pthread_condattr_t attr;

	if (!waiter)
		return NULL;
	waiter->fd = -1;
	pthread_mutex_init(&waiter->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&waiter->changed, &attr);
	pthread_condattr_destroy(&attr);
	return waiter;
}

void migrate_waiter_abandon(struct migrate_waiter *waiter)
{
	pthread_cond_destroy(&waiter->changed);
	pthread_mutex_destroy(&waiter->lock);
	free(waiter);
}

void migrate_waiter_done(void *arg, int status)
{
	struct migrate_waiter *waiter = arg;
	bool given_up;

	pthread_mutex_lock(&waiter->lock);
	given_up = waiter->given_up;
	waiter->done = true;
	waiter->status = status;
	/* Under the lock: once it is released the waiting side may free. */
	pthread_cond_signal(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
	if (!given_up)
		return;
	if (waiter->fd >= 0)
		close(waiter->fd);
	migrate_waiter_abandon(waiter);
}

int migrate_waiter_wait(struct migrate_waiter *waiter, const struct timespec *deadline, int fd)
{
	int status, late = 0;

	pthread_mutex_lock(&waiter->lock);
	while (!waiter->done && !late) {
		if (deadline)
			late = pthread_cond_timedwait(&waiter->changed, &waiter->lock, deadline);
		else
			pthread_cond_wait(&waiter->changed, &waiter->lock);
	}
	if (!waiter->done) {
		waiter->given_up = true;
		waiter->fd = fd;
		pthread_mutex_unlock(&waiter->lock);
		return -EAGAIN;
	}
	status = waiter->status;
	pthread_mutex_unlock(&waiter->lock);
	migrate_waiter_abandon(waiter);
	if (fd >= 0)
		close(fd);
	return status;
}
