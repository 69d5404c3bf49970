/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/call.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fsal_migrate/up.h"

static void close_fds(struct mg_call *call)
{
	if (call->fd >= 0)
		close(call->fd);
	if (call->dir_fd >= 0)
		close(call->dir_fd);
	call->fd = call->dir_fd = -1;
}

struct mg_call *mg_call_new(struct mg_volume *volume, int fd, int dir_fd)
{
	struct mg_call *call = calloc(1, sizeof(*call));
	pthread_condattr_t attr;

	if (!call) {
		if (fd >= 0)
			close(fd);
		if (dir_fd >= 0)
			close(dir_fd);
		return NULL;
	}
	call->volume = mg_volume_ref(volume);
	call->fd = fd;
	call->dir_fd = dir_fd;
	call->refs = 1;
	call->deadline = mg_deadline(volume);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&call->changed, &attr);
	pthread_condattr_destroy(&attr);
	return call;
}

static void call_free(struct mg_call *call)
{
	close_fds(call);
	pthread_cond_destroy(&call->changed);
	mg_volume_unref(call->volume);
	free(call->key);
	free(call->name);
	free(call);
}

struct mg_call *mg_call_ref(struct mg_call *call)
{
	call->refs++;
	return call;
}

void mg_call_unref(struct mg_call *call)
{
	bool last;

	pthread_mutex_lock(&call->volume->lock);
	last = --call->refs == 0;
	pthread_mutex_unlock(&call->volume->lock);
	if (last)
		call_free(call);
}

static void call_finish(void *arg)
{
	struct mg_call *call = arg;
	struct mg_volume *volume = call->volume;

	pthread_mutex_lock(&volume->lock);
	call->done = true;
	/* a begin that came too late */
	if (call->begin && call->given_up && call->status == 0)
		migrate_end(volume->client, call->request, false, false, 0, 0, NULL, NULL);
	pthread_cond_broadcast(&call->changed);
	pthread_mutex_unlock(&volume->lock);
	close_fds(call);
	mg_call_unref(call);
}

/* The reply; in the dispatching thread.  When a directory was filled, MDCACHE has to forget the
 * directory's old attributes before a waiting thread goes on. */
static void call_done(void *arg, int status)
{
	struct mg_call *call = arg;

	call->status = status;
	if (call->key && status == 0)
		mg_up_invalidate(call->volume, call->key, call->key_len, false, call_finish, call);
	else
		call_finish(call);
}

static void call_made(struct mg_call *call, uint64_t request)
{
	call->request = request;
	if (request) {
		call->refs++; /* the reply's, which waits for volume.lock */
		LogFullDebug(COMPONENT_FSAL, "Volume %s: request %" PRIu64, call->volume->name,
			     request);
	} else {
		call->done = true;
		call->status = errno ? -errno : -ENOMEM;
	}
}

void mg_call_fill(struct mg_call *call)
{
	call_made(call, migrate_fill_directory(call->volume->client, call->fd, 0, call_done, call));
}

void mg_call_name(struct mg_call *call)
{
	call_made(call, migrate_fetch_name(call->volume->client, call->fd, call->name, 0, call_done,
					   call));
}

void mg_call_sync(struct mg_call *call)
{
	call->kind = MG_CALL_DATA;
	call_made(call, migrate_sync(call->volume->client, call->fd, call_done, call));
}

void mg_call_settle(struct mg_call *call)
{
	call->kind = MG_CALL_DATA;
	call_made(call, migrate_fetch_range(call->volume->client, call->fd, 0, UINT64_MAX,
					    MIGRATE_DURABLE, call_done, call));
}

void mg_call_begin(struct mg_call *call, enum migrate_change change, uint64_t offset,
		   uint64_t length)
{
	call->kind = MG_CALL_DATA;
	call->begin = true;
	call_made(call, migrate_begin(call->volume->client, call->fd, call->dir_fd, change, offset,
				      length, call_done, call));
}

void mg_call_end(struct mg_call *call, uint64_t begun, bool changed, bool durable, uint64_t offset,
		 uint64_t length)
{
	call->kind = MG_CALL_END;
	call_made(call, migrate_end(call->volume->client, begun, changed, durable, offset, length,
				    call_done, call));
}

static atomic_uint waiters;

/* Counts the thread among those that wait; false: too many do. */
static bool waiter_begin(void)
{
	if (atomic_fetch_add(&waiters, 1) < mg_limits.max_waiters)
		return true;
	atomic_fetch_sub(&waiters, 1);
	return false;
}

/* Whether the answer is of no use any more; that of a fill or of a name is of use to the next
 * thread, unless many requests are under way. */
static bool is_useless(const struct mg_call *call)
{
	return call->kind == MG_CALL_DATA ||
	       (call->kind == MG_CALL_NAMES && migrate_volume_crowded(call->volume->client));
}

int mg_call_wait(struct mg_call *call, const struct timespec *deadline)
{
	pthread_mutex_t *lock = &call->volume->lock;
	int result, late = 0;

	pthread_mutex_lock(lock);
	call->waiting++;
	if (!call->done && !migrate_passed(deadline) && waiter_begin()) {
		while (!call->done && !late)
			late = pthread_cond_timedwait(&call->changed, lock, deadline);
		atomic_fetch_sub(&waiters, 1);
	}
	result = call->done ? call->status : -EAGAIN;
	if (--call->waiting == 0 && !call->done && is_useless(call))
		mg_call_give_up(call);
	pthread_mutex_unlock(lock);
	return result;
}

void mg_call_give_up(struct mg_call *call)
{
	call->given_up = true;
	if (!call->done)
		migrate_cancel(call->volume->client, call->request);
}

int mg_call_run(struct mg_call *call, void (*make)(struct mg_call *call))
{
	int result;

	if (!call)
		return -EAGAIN;
	pthread_mutex_lock(&call->volume->lock);
	make(call);
	pthread_mutex_unlock(&call->volume->lock);
	result = mg_call_wait(call, &call->deadline);
	mg_call_unref(call);
	return result;
}
