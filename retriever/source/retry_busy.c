/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks again after -EAGAIN.  What pauses is kept here and holds no place in the inner backend.
 *
 * Also after -EBADMSG, a few times: what made no sense once may have been damaged on its way, or by
 * a server that is about to end, and is no reason to fail a client.  Not of listings: who lists
 * begins anew, because it may also mean that the directory has changed.
 */
#include <errno.h>
#include <pthread.h>

#include "backend.h"

#define PAUSE_MIN (50 * G_TIME_SPAN_MILLISECOND)
#define PAUSE_MAX (5 * G_TIME_SPAN_SECOND)

#define SENSELESS_MAX 2

struct backend_retry {
	struct backend_layer layer;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows; not held across done or submit */
	pthread_cond_t changed;
	GSequence *pausing; /* struct retried, by due */
	bool stop;
};

/* Stands in for the submitter while a request is with the inner backend. */
struct retried {
	struct backend_retry *retry;
	struct backend_request *req;
	void (*done)(struct backend_request *req);
	void *user;
	uint64_t cookie, verf;
	unsigned senseless; /* replies */
	gint64 due;
};

static gint by_due(gconstpointer a, gconstpointer b, gpointer user)
{
	gint64 x = ((const struct retried *)a)->due, y = ((const struct retried *)b)->due;

	return x < y ? -1 : x > y;
}

static void complete_retried(struct retried *retried, int status)
{
	struct backend_request *req = retried->req;

	req->done = retried->done;
	req->user = retried->user;
	g_free(retried);
	req->status = status;
	req->done(req);
}

/* FALSE: the backend is being closed. */
static bool pause_request(struct retried *retried, guint before)
{
	struct backend_retry *retry = retried->retry;
	guint shift = MIN(before, 16);
	bool stop;

	retried->due = g_get_monotonic_time() + MIN(PAUSE_MIN << shift, PAUSE_MAX);
	pthread_mutex_lock(&retry->lock);
	stop = retry->stop;
	if (!stop) {
		g_sequence_insert_sorted(retry->pausing, retried, by_due, NULL);
		pthread_cond_signal(&retry->changed);
	}
	pthread_mutex_unlock(&retry->lock);
	return !stop;
}

static void inner_done(struct backend_request *req)
{
	struct retried *retried = req->user;
	bool busy = req->status == -EAGAIN;
	bool senseless = req->status == -EBADMSG && req->op != BACKEND_READDIR &&
			 retried->senseless < SENSELESS_MAX;

	if (!busy && !senseless)
		complete_retried(retried, req->status);
	else if (!pause_request(retried, busy ? req->attempts++ : retried->senseless++))
		complete_retried(retried, -ECANCELED);
}

/* The next one whose pause is over; NULL: stop. With the lock. */
static struct retried *next_due(struct backend_retry *retry)
{
	while (!retry->stop) {
		GSequenceIter *first = g_sequence_get_begin_iter(retry->pausing);
		struct retried *retried;
		struct timespec until;

		if (g_sequence_iter_is_end(first)) {
			pthread_cond_wait(&retry->changed, &retry->lock);
			continue;
		}
		retried = g_sequence_get(first);
		if (retried->due <= g_get_monotonic_time()) {
			g_sequence_remove(first);
			return retried;
		}
		until.tv_sec = retried->due / G_USEC_PER_SEC;
		until.tv_nsec = retried->due % G_USEC_PER_SEC * 1000;
		pthread_cond_timedwait(&retry->changed, &retry->lock, &until);
	}
	return NULL;
}

static void *submit_when_due(void *arg)
{
	struct backend_retry *retry = arg;
	struct retried *retried;

	pthread_mutex_lock(&retry->lock);
	while ((retried = next_due(retry))) {
		pthread_mutex_unlock(&retry->lock);
		retried->req->cookie = retried->cookie;
		retried->req->verf = retried->verf;
		retry->layer.inner->ops->submit(retry->layer.inner, retried->req);
		pthread_mutex_lock(&retry->lock);
	}
	pthread_mutex_unlock(&retry->lock);
	return NULL;
}

static void retry_submit(struct backend *backend, struct backend_request *req)
{
	struct backend_retry *retry = (struct backend_retry *)backend;
	struct retried *retried = g_new(struct retried, 1);

	*retried = (struct retried){
		.retry = retry,
		.req = req,
		.done = req->done,
		.user = req->user,
		.cookie = req->cookie,
		.verf = req->verf,
	};
	req->attempts = 0;
	req->done = inner_done;
	req->user = retried;
	retry->layer.inner->ops->submit(retry->layer.inner, req);
}

static void cancel_retried(gpointer data, gpointer user)
{
	complete_retried(data, -ECANCELED);
}

static void retry_close(struct backend *backend)
{
	struct backend_retry *retry = (struct backend_retry *)backend;

	pthread_mutex_lock(&retry->lock);
	retry->stop = true;
	pthread_cond_signal(&retry->changed);
	pthread_mutex_unlock(&retry->lock);
	pthread_join(retry->thread, NULL);
	/* Nothing is added any more. */
	g_sequence_foreach(retry->pausing, cancel_retried, NULL);
	g_sequence_free(retry->pausing);
	retry->layer.inner->ops->close(retry->layer.inner);
	pthread_cond_destroy(&retry->changed);
	pthread_mutex_destroy(&retry->lock);
	g_free(retry);
}

static const struct backend_ops retry_ops = {
	.scheme = "retry",
	.close = retry_close,
	.submit = retry_submit,
	.max_read = backend_layer_max_read,
	.away = backend_layer_away,
	.carries = backend_layer_carries,
	.not_carried = backend_layer_not_carried,
};

struct backend *backend_retry_new(struct backend *inner)
{
	struct backend_retry *retry = g_new0(struct backend_retry, 1);
	pthread_condattr_t attr;

	retry->layer.base.ops = &retry_ops;
	retry->layer.inner = inner;
	retry->pausing = g_sequence_new(NULL);
	pthread_mutex_init(&retry->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&retry->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&retry->thread, NULL, submit_when_due, retry) != 0)
		g_error("no thread for the retry timer");
	return &retry->layer.base;
}
