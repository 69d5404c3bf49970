/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/workers.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "lib/source/backend.h"

struct crew {
	struct backend_workers *workers;
	/* Counts what is in the queues, and at the end the threads.  No condition: the C library up
	 * to 2.40 can lose a signal where several threads wait (its bug 25847). */
	sem_t more;
	GQueue queue[BACKEND_BACKGROUND + 1]; /* by priority */
	unsigned n;
	pthread_t *threads;
};

struct backend_workers {
	pthread_mutex_t lock; /* guards the queues and stop; not held while work runs */
	bool stop;
	struct crew demand, background;
	backend_work work;
	void (*scratch_clear)(void *scratch);
	size_t scratch_size;
	void *user;
};

static GList *next_link(struct crew *crew)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(crew->queue); i++)
		if (crew->queue[i].head)
			return g_queue_pop_head_link(&crew->queue[i]);
	return NULL;
}

static void *do_requests(void *arg)
{
	struct crew *crew = arg;
	struct backend_workers *workers = crew->workers;
	void *scratch = g_malloc0(workers->scratch_size);

	for (;;) {
		GList *link;
		bool stop;

		if (sem_wait(&crew->more) < 0)
			continue; /* a signal */
		pthread_mutex_lock(&workers->lock);
		link = next_link(crew);
		stop = workers->stop;
		pthread_mutex_unlock(&workers->lock);
		if (!link)
			break;
		if (stop) {
			backend_complete(link->data, -ECANCELED);
		} else {
			trace_request(TRACE_SENT, link->data, 0, 0);
			workers->work(workers->user, link->data, scratch);
		}
	}
	workers->scratch_clear(scratch);
	g_free(scratch);
	return NULL;
}

static bool crew_start(struct backend_workers *workers, struct crew *crew, unsigned n)
{
	crew->workers = workers;
	sem_init(&crew->more, 0, 0);
	crew->threads = g_new(pthread_t, n);
	while (crew->n < n) {
		int err = pthread_create(&crew->threads[crew->n], NULL, do_requests, crew);

		if (err != 0) {
			errno = err;
			return false;
		}
		crew->n++;
	}
	return true;
}

static void crew_end(struct crew *crew)
{
	for (unsigned i = 0; i < crew->n; i++)
		sem_post(&crew->more);
	for (unsigned i = 0; i < crew->n; i++)
		pthread_join(crew->threads[i], NULL);
	g_free(crew->threads);
	sem_destroy(&crew->more);
}

struct backend_workers *backend_workers_new(unsigned demand, unsigned background, backend_work work,
					    void (*scratch_clear)(void *scratch),
					    size_t scratch_size, void *user)
{
	struct backend_workers *workers = g_new0(struct backend_workers, 1);
	bool started;

	pthread_mutex_init(&workers->lock, NULL);
	workers->work = work;
	workers->scratch_clear = scratch_clear;
	workers->scratch_size = scratch_size;
	workers->user = user;
	started = crew_start(workers, &workers->demand, demand);
	started = crew_start(workers, &workers->background, background) && started;
	if (started)
		return workers;
	backend_workers_free(workers);
	errno = EAGAIN;
	return NULL;
}

void backend_workers_free(struct backend_workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	workers->stop = true;
	pthread_mutex_unlock(&workers->lock);
	crew_end(&workers->demand);
	crew_end(&workers->background);
	pthread_mutex_destroy(&workers->lock);
	g_free(workers);
}

void backend_workers_submit(struct backend_workers *workers, struct backend_request *req)
{
	struct crew *crew =
		req->priority == BACKEND_DEMAND ? &workers->demand : &workers->background;
	bool stop;

	pthread_mutex_lock(&workers->lock);
	stop = workers->stop;
	if (!stop) {
		g_queue_push_tail_link(&crew->queue[req->priority], &req->link);
		sem_post(&crew->more);
	}
	pthread_mutex_unlock(&workers->lock);
	if (stop)
		backend_complete(req, -ECANCELED);
}
