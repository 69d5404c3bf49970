/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Each thread waits on a condition of its own: where several wait on one, the C library up to 2.40
 * can lose a signal (its bug 25847), and the request would stay parked until the next one.
 */
#include "fsal_migrate/pool.h"

#include <pthread.h>
#include <signal.h>

#include "abstract_mem.h"
#include "common_utils.h"
#include "log.h"
#include "common/migrate.h"

#define MAX_WORKERS 64

struct worker {
	pthread_t thread;
	pthread_cond_t wake;	/* not idle any more, or stop */
	struct glist_head idle; /* pool.lock */
};

static struct {
	pthread_mutex_t users_lock; /* users and the threads' life; before lock */
	unsigned users;

	pthread_mutex_t lock; /* the rest */
	pthread_cond_t tick;  /* an earlier timer, or stop; CLOCK_MONOTONIC */
	bool stop;
	struct glist_head jobs;
	struct glist_head idle;	  /* workers without a job */
	struct glist_head timers; /* by time */
	struct worker workers[MAX_WORKERS];
	unsigned n_workers;
	pthread_t ticker;
} pool = {
	.users_lock = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.jobs = GLIST_HEAD_INIT(pool.jobs),
	.idle = GLIST_HEAD_INIT(pool.idle),
	.timers = GLIST_HEAD_INIT(pool.timers),
};

/* pool.lock.  Waits until another thread takes this worker out of the idle ones, or until stop. */
static void wait_for_job(struct worker *worker)
{
	glist_add(&pool.idle, &worker->idle);
	while (!glist_null(&worker->idle) && !pool.stop)
		pthread_cond_wait(&worker->wake, &pool.lock);
	if (!glist_null(&worker->idle))
		glist_del(&worker->idle);
}

static void *work_pool(void *arg)
{
	struct mg_job *job;

	SetNameFunction("migrate");
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		job = glist_first_entry(&pool.jobs, struct mg_job, link);
		if (job) {
			glist_del(&job->link);
			pthread_mutex_unlock(&pool.lock);
			job->run(job);
			pthread_mutex_lock(&pool.lock);
		} else if (pool.stop) {
			break;
		} else {
			wait_for_job(arg);
		}
	}
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static void *tick(void *arg)
{
	struct mg_timer *timer;

	SetNameFunction("migrate_timer");
	pthread_mutex_lock(&pool.lock);
	while (!pool.stop) {
		timer = glist_first_entry(&pool.timers, struct mg_timer, link);
		if (!timer) {
			pthread_cond_wait(&pool.tick, &pool.lock);
		} else if (!migrate_passed(&timer->at)) {
			struct timespec at = timer->at;

			pthread_cond_timedwait(&pool.tick, &pool.lock, &at);
		} else {
			glist_del(&timer->link);
			timer->armed = false;
			pthread_mutex_unlock(&pool.lock);
			timer->fire(timer);
			pthread_mutex_lock(&pool.lock);
		}
	}
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static void stop_threads(bool ticking)
{
	pthread_mutex_lock(&pool.lock);
	pool.stop = true;
	for (unsigned i = 0; i < pool.n_workers; i++)
		pthread_cond_signal(&pool.workers[i].wake);
	pthread_cond_broadcast(&pool.tick);
	pthread_mutex_unlock(&pool.lock);
	for (unsigned i = 0; i < pool.n_workers; i++) {
		pthread_join(pool.workers[i].thread, NULL);
		pthread_cond_destroy(&pool.workers[i].wake);
	}
	if (ticking)
		pthread_join(pool.ticker, NULL);
	pool.n_workers = 0;
}

static int start_threads(unsigned workers)
{
	pthread_condattr_t attr;
	int error = 0;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&pool.tick, &attr);
	pthread_condattr_destroy(&attr);
	pool.stop = false;
	pool.n_workers = 0;
	while (!error && pool.n_workers < workers && pool.n_workers < MAX_WORKERS) {
		struct worker *worker = &pool.workers[pool.n_workers];

		pthread_cond_init(&worker->wake, NULL);
		error = pthread_create(&worker->thread, NULL, work_pool, worker);
		if (!error)
			pool.n_workers++;
	}
	if (!error)
		error = pthread_create(&pool.ticker, NULL, tick, NULL);
	if (error)
		stop_threads(false);
	return -error;
}

int mg_pool_start(unsigned workers)
{
	sigset_t all, old;
	int error = 0;

	pthread_mutex_lock(&pool.users_lock);
	if (pool.users == 0) {
		/* The host handles signals in a thread of its own. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		error = start_threads(workers);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	if (!error)
		pool.users++;
	pthread_mutex_unlock(&pool.users_lock);
	return error;
}

void mg_pool_stop(void)
{
	pthread_mutex_lock(&pool.users_lock);
	if (pool.users > 0 && --pool.users == 0)
		stop_threads(true);
	pthread_mutex_unlock(&pool.users_lock);
}

void mg_pool_kill(void)
{
	pthread_mutex_lock(&pool.users_lock);
	if (pool.users > 0)
		stop_threads(true);
	pool.users = 0;
	pthread_mutex_unlock(&pool.users_lock);
}

void mg_pool_submit(struct mg_job *job)
{
	struct worker *worker;

	pthread_mutex_lock(&pool.lock);
	glist_add_tail(&pool.jobs, &job->link);
	worker = glist_first_entry(&pool.idle, struct worker, idle);
	if (worker) {
		glist_del(&worker->idle);
		pthread_cond_signal(&worker->wake);
	}
	pthread_mutex_unlock(&pool.lock);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

void mg_timer_arm(struct mg_timer *timer, struct timespec at)
{
	struct glist_head *place;

	pthread_mutex_lock(&pool.lock);
	timer->at = at;
	timer->armed = true;
	/* From the end: nearly all timers are as far away as the hold time. */
	for (place = pool.timers.prev; place != &pool.timers; place = place->prev) {
		if (!is_before(&at, &glist_entry(place, struct mg_timer, link)->at))
			break;
	}
	glist_add(place, &timer->link);
	if (pool.timers.next == &timer->link)
		pthread_cond_signal(&pool.tick);
	pthread_mutex_unlock(&pool.lock);
}

bool mg_timer_disarm(struct mg_timer *timer)
{
	bool armed;

	pthread_mutex_lock(&pool.lock);
	armed = timer->armed;
	if (armed)
		glist_del(&timer->link);
	timer->armed = false;
	pthread_mutex_unlock(&pool.lock);
	return armed;
}
