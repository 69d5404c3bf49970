/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TURNS	  8  /* of so many trials one is of the last priority */
#define GROW	  32 /* answers until one more may be under way */
#define WANTED_US (30 * G_TIME_SPAN_SECOND)

void smb_pool_init(struct smb_pool *pool, enum smb_pool_kind kind, unsigned window)
{
	pthread_mutex_init(&pool->lock, NULL);
	pool->kind = kind;
	pool->window = window;
	atomic_init(&pool->answers, GROW * window);
}

void smb_pool_clear(struct smb_pool *pool)
{
	pthread_mutex_destroy(&pool->lock);
}

bool smb_pool_join(struct smb_pool *pool, struct smb_seat *seat)
{
	seat->pool = pool;
	seat->index = pool->n;
	seat->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (seat->kick < 0)
		return false;
	pthread_mutex_lock(&pool->lock);
	pool->seats[pool->n++] = seat;
	pthread_mutex_unlock(&pool->lock);
	return true;
}

void smb_pool_leave(struct smb_seat *seat)
{
	struct smb_pool *pool = seat->pool;

	pthread_mutex_lock(&pool->lock);
	pool->n--;
	pthread_mutex_unlock(&pool->lock);
	close(seat->kick);
}

static void wake_seat(struct smb_seat *seat)
{
	const uint64_t one = 1;

	if (write(seat->kick, &one, sizeof(one)) < 0 && errno != EAGAIN)
		g_warning("eventfd: %s", g_strerror(errno));
}

/* ---- listings ---- */

static unsigned pool_mark(const struct smb_pool *pool)
{
	return pool->kind << 8;
}

uint64_t smb_pool_verf(const struct smb_seat *seat, uint32_t generation)
{
	return (uint64_t)(pool_mark(seat->pool) | (seat->index + 1)) << 32 | generation;
}

static uint64_t seat_of(const struct smb_pool *pool, const struct backend_request *req)
{
	return (req->verf >> 32) - pool_mark(pool) - 1;
}

bool smb_pool_lists(const struct smb_pool *pool, const struct backend_request *req)
{
	return req->op == BACKEND_READDIR && req->cookie && seat_of(pool, req) < pool->n;
}

/* ---- requests ---- */

/* Lock held: a connection that sleeps and has room.  The fewer requests are under way together, the
 * fewer are lost with a connection. */
static struct smb_seat *sleeping_seat(struct smb_pool *pool)
{
	struct smb_seat *best = NULL;

	for (unsigned i = 0; i < pool->n; i++) {
		struct smb_seat *seat = pool->seats[i];

		if (seat->asleep && (!best || seat->ready > best->ready ||
				     (seat->ready == best->ready && seat->busy < best->busy)))
			best = seat;
	}
	return best;
}

/* Lock held. */
static void wake_all(struct smb_pool *pool)
{
	for (unsigned i = 0; i < pool->n; i++) {
		pool->seats[i]->asleep = false;
		wake_seat(pool->seats[i]);
	}
}

bool smb_pool_submit(struct smb_pool *pool, struct backend_request *req)
{
	struct smb_seat *seat;
	bool stop;

	pthread_mutex_lock(&pool->lock);
	stop = pool->stop;
	if (!stop && smb_pool_lists(pool, req)) {
		seat = pool->seats[seat_of(pool, req)];
		g_queue_push_tail_link(&seat->bound, &req->link);
	} else if (!stop) {
		seat = sleeping_seat(pool);
		g_queue_push_tail_link(&pool->queue[req->priority], &req->link);
	}
	if (!stop && seat)
		seat->asleep = false;
	pthread_mutex_unlock(&pool->lock);
	if (!stop && seat)
		wake_seat(seat);
	return !stop;
}

/* Lock held. */
static unsigned fair_share(const struct smb_pool *pool)
{
	unsigned waiting = 0, n = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(pool->queue); i++)
		waiting += pool->queue[i].length;
	for (unsigned i = 0; i < pool->n; i++)
		n += !pool->seats[i]->spare || pool->seats[i]->ready;
	n = MAX(n, 1);
	return (waiting + n - 1) / n;
}

/* Lock held.  Trials take long: there even requests of the last priority have their turns, although
 * clients may ask for the same object again and again. */
static GQueue *next_queue(struct smb_seat *seat)
{
	const unsigned last = BACKEND_BACKGROUND;
	struct smb_pool *pool = seat->pool;
	bool upwards = pool->kind == SMB_TRIAL && seat->turns++ % TURNS == TURNS - 1;

	if (seat->bound.head)
		return &seat->bound;
	for (unsigned i = 0; i <= last; i++) {
		GQueue *queue = &pool->queue[upwards ? last - i : i];

		if (queue->head)
			return queue;
	}
	return NULL;
}

void smb_pool_answered(struct smb_pool *pool)
{
	if (atomic_load(&pool->answers) < GROW * pool->window)
		atomic_fetch_add(&pool->answers, 1);
}

void smb_pool_lost(struct smb_pool *pool)
{
	atomic_store(&pool->answers, 0);
}

unsigned smb_pool_width(struct smb_pool *pool)
{
	return MIN(1 + atomic_load(&pool->answers) / GROW, pool->window);
}

void smb_pool_take(struct smb_seat *seat, unsigned room, uint64_t bytes, GQueue *out)
{
	const unsigned busy = seat->pool->window - room;
	const unsigned width = smb_pool_width(seat->pool);
	uint64_t taken = 0;
	unsigned share;
	GQueue *queue;
	bool alone = false;

	pthread_mutex_lock(&seat->pool->lock);
	room = MIN(room, width > busy ? width - busy : 0);
	share = fair_share(seat->pool) + seat->bound.length;
	while (out->length < MIN(share, room) && taken < bytes && !alone &&
	       (queue = next_queue(seat))) {
		const struct backend_request *req = queue->head->data;

		alone = req->backend.breaks;
		if (alone && busy + out->length)
			break;
		if (req->op == BACKEND_READ)
			taken += req->count;
		g_queue_push_tail_link(out, g_queue_pop_head_link(queue));
	}
	seat->asleep = out->length < room && taken < bytes && !alone;
	seat->busy = busy + out->length;
	pthread_mutex_unlock(&seat->pool->lock);
}

bool smb_pool_has_work(struct smb_seat *seat)
{
	bool has;

	pthread_mutex_lock(&seat->pool->lock);
	has = fair_share(seat->pool) || seat->bound.length;
	seat->asleep = !has;
	pthread_mutex_unlock(&seat->pool->lock);
	return has;
}

bool smb_pool_has_bound(struct smb_seat *seat)
{
	bool has;

	pthread_mutex_lock(&seat->pool->lock);
	has = seat->bound.length;
	pthread_mutex_unlock(&seat->pool->lock);
	return has;
}

void smb_pool_ready(struct smb_seat *seat, bool ready)
{
	struct smb_pool *pool = seat->pool;

	pthread_mutex_lock(&pool->lock);
	seat->ready = ready;
	seat->asleep &= ready;
	if (!ready && fair_share(pool))
		wake_all(pool);
	pthread_mutex_unlock(&pool->lock);
}

void smb_pool_want(struct smb_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->wanted = g_get_monotonic_time() + WANTED_US;
	wake_all(pool);
	pthread_mutex_unlock(&pool->lock);
}

bool smb_pool_wanted(struct smb_pool *pool)
{
	bool wanted;

	pthread_mutex_lock(&pool->lock);
	wanted = g_get_monotonic_time() < pool->wanted;
	pthread_mutex_unlock(&pool->lock);
	return wanted;
}

bool smb_pool_starves(struct smb_pool *pool)
{
	bool starves;

	pthread_mutex_lock(&pool->lock);
	starves = pool->queue[BACKEND_DEMAND].length;
	pthread_mutex_unlock(&pool->lock);
	return starves;
}

bool smb_pool_has_ready(struct smb_pool *pool)
{
	bool ready = false;

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < pool->n; i++)
		ready |= pool->seats[i]->ready;
	pthread_mutex_unlock(&pool->lock);
	return ready;
}

void smb_pool_give_back(struct smb_seat *seat, GQueue *requests)
{
	struct smb_pool *pool = seat->pool;
	GList *link;

	pthread_mutex_lock(&pool->lock);
	seat->asleep = false;
	while ((link = g_queue_pop_tail_link(requests))) {
		const struct backend_request *req = link->data;
		GQueue *queue = &pool->queue[req->priority];

		if (req->op == BACKEND_READDIR && req->cookie)
			queue = &seat->bound;
		g_queue_push_head_link(queue, link);
	}
	if (fair_share(pool))
		wake_all(pool);
	pthread_mutex_unlock(&pool->lock);
}

/* ---- the end ---- */

void smb_pool_stop(struct smb_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->n; i++)
		wake_seat(pool->seats[i]);
}

bool smb_pool_stopped(struct smb_pool *pool)
{
	bool stop;

	pthread_mutex_lock(&pool->lock);
	stop = pool->stop;
	pthread_mutex_unlock(&pool->lock);
	return stop;
}

static void move_requests(GQueue *from, GQueue *to)
{
	while (from->head)
		g_queue_push_tail_link(to, g_queue_pop_head_link(from));
}

void smb_pool_drain(struct smb_pool *pool, GQueue *out)
{
	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < pool->n; i++)
		move_requests(&pool->seats[i]->bound, out);
	for (unsigned i = 0; i < G_N_ELEMENTS(pool->queue); i++)
		move_requests(&pool->queue[i], out);
	pthread_mutex_unlock(&pool->lock);
}
