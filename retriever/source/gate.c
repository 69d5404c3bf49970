/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gate.h"

#include <stdatomic.h>

#include "cap.h"
#include "server_clock.h"
#include "yield.h"

#define TICK_MS 20

struct gate {
	struct backend *backend;
	GMutex lock;
	/* of struct backend_request, by their link and their priority */
	GQueue held[BACKEND_BACKGROUND + 1];
	unsigned foreground;	    /* requests of other priorities that the backend has */
	unsigned background;	    /* and those of this one */
	struct yield yield;	    /* how many that may be */
	unsigned calls;		    /* of let_pass() under way */
	_Atomic uint64_t bandwidth; /* written with the lock, as paused */
	_Atomic unsigned requests;  /* likewise; a second, 0: no limit */
	_Atomic uint64_t passed;    /* background requests */
	int64_t tokens;		    /* bytes; may go below zero by one request */
	struct cap *cap;	    /* of the old server, or NULL */
	double calls_left;	    /* requests; at most those of a second */
	gint64 refilled, calls_refilled;
	uint64_t carried; /* bytes; see gate_submit() */
	atomic_bool paused;
	bool closed;
	unsigned submitting; /* calls of the backend's submit under way */
	GCond changed;	     /* none of them is, or a request that is waited for is done */
	guint timer;
	struct server_clock clock;
};

/* Lock held. */
static void refill_tokens(struct gate *gate)
{
	gint64 now = g_get_monotonic_time();
	int64_t more = (double)gate->bandwidth * (now - gate->refilled) / G_USEC_PER_SEC;

	if (more <= 0)
		return;
	gate->tokens = MIN(gate->tokens + more, (int64_t)gate->bandwidth);
	gate->refilled = now;
}

/* Lock held. */
static bool has_tokens(struct gate *gate)
{
	if (gate->bandwidth)
		refill_tokens(gate);
	return !gate->bandwidth || gate->tokens > 0;
}

/* Lock held. */
static bool may_call(struct gate *gate)
{
	gint64 now = g_get_monotonic_time();

	if (!gate->requests)
		return true;
	gate->calls_left += (double)gate->requests * (now - gate->calls_refilled) / G_USEC_PER_SEC;
	gate->calls_left = MIN(gate->calls_left, gate->requests);
	gate->calls_refilled = now;
	return gate->calls_left >= 1;
}

/* Lock held. */
static bool has_window(struct gate *gate)
{
	return gate->background < yield_window(&gate->yield);
}

/* Lock held: whether req may pass; takes its tokens. */
static bool take_tokens(struct gate *gate, const struct backend_request *req)
{
	uint32_t carried = req->op == BACKEND_XATTRS ? req->count : 0;
	uint32_t bytes = req->op == BACKEND_READ ? req->count : carried;

	if (gate->paused || !has_window(gate) || (carried && gate->carried >= GATE_CARRIED) ||
	    !has_tokens(gate) || !may_call(gate) || (gate->cap && !cap_take(gate->cap, bytes)))
		return false;
	gate->carried += carried;
	gate->passed++;
	if (gate->requests)
		gate->calls_left--;
	if (gate->bandwidth)
		gate->tokens -= bytes;
	return true;
}

static void let_pass(struct gate *gate);

static void request_done(struct backend_request *req, unsigned *under_way)
{
	struct gate *gate = req->gate;
	gint64 now = g_get_monotonic_time();

	req->done = req->passed;
	if (!req->status)
		server_clock_judge(&gate->clock, req, req->let_in, now);
	g_mutex_lock(&gate->lock);
	yield_answer(&gate->yield, req, gate->background, now - req->let_in, now);
	--*under_way;
	g_mutex_unlock(&gate->lock);
	req->done(req);
	let_pass(gate);
}

static void foreground_done(struct backend_request *req)
{
	request_done(req, &((struct gate *)req->gate)->foreground);
}

static void background_done(struct backend_request *req)
{
	request_done(req, &((struct gate *)req->gate)->background);
}

/* Lock held, and given up meanwhile. */
static void submit_unlocked(struct gate *gate, struct backend_request *req)
{
	const bool background = req->priority == BACKEND_BACKGROUND;

	++*(background ? &gate->background : &gate->foreground);
	req->gate = gate;
	req->let_in = g_get_monotonic_time();
	req->passed = req->done;
	req->done = background ? background_done : foreground_done;
	gate->submitting++;
	g_mutex_unlock(&gate->lock);
	trace_request(TRACE_SUBMITTED, req, 0, 0);
	gate->backend->ops->submit(gate->backend, req);
	g_mutex_lock(&gate->lock);
	if (--gate->submitting == 0 && gate->closed)
		g_cond_broadcast(&gate->changed);
}

static void complete_request(struct backend_request *req, int status)
{
	req->status = status;
	req->done(req);
}

/* Lock held: the next that may pass, or NULL. */
static struct backend_request *take_next(struct gate *gate)
{
	for (unsigned i = BACKEND_DEMAND; i <= BACKEND_BACKGROUND && !gate->closed; i++) {
		GList *link = g_queue_peek_head_link(&gate->held[i]);

		if (!link || (i == BACKEND_BACKGROUND ? !take_tokens(gate, link->data)
						      : gate->foreground >= GATE_FOREGROUND))
			continue;
		g_queue_unlink(&gate->held[i], link);
		return link->data;
	}
	return NULL;
}

/* What is completed while it is submitted lets others pass: those, too, are let in here. */
static void let_pass(struct gate *gate)
{
	struct backend_request *req;
	unsigned calls;

	g_mutex_lock(&gate->lock);
	if (gate->calls++) {
		g_mutex_unlock(&gate->lock);
		return;
	}
	do {
		calls = gate->calls;
		while ((req = take_next(gate)))
			submit_unlocked(gate, req);
		gate->calls -= calls;
	} while (gate->calls);
	g_mutex_unlock(&gate->lock);
}

static gboolean let_pass_now_and_then(gpointer arg)
{
	let_pass(arg);
	return G_SOURCE_CONTINUE;
}

/* Lock held. */
static bool has_to_wait(struct gate *gate, const struct backend_request *req)
{
	if (!g_queue_is_empty(&gate->held[req->priority]))
		return true;
	return req->priority == BACKEND_BACKGROUND ? !take_tokens(gate, req)
						   : gate->foreground >= GATE_FOREGROUND;
}

void gate_submit(struct gate *gate, struct backend_request *req)
{
	g_mutex_lock(&gate->lock);
	if (gate->closed) {
		g_mutex_unlock(&gate->lock);
		complete_request(req, -ECANCELED);
		return;
	}
	if (!req->trace.peer)
		req->trace = trace_current();
	if (has_to_wait(gate, req)) {
		trace_request(TRACE_HELD, req, 0, 0);
		req->link.data = req;
		req->link.next = req->link.prev = NULL;
		g_queue_push_tail_link(&gate->held[req->priority], &req->link);
	} else {
		submit_unlocked(gate, req);
	}
	g_mutex_unlock(&gate->lock);
}

static void take_back(struct gate *gate,
		      bool (*match)(const struct backend_request *req, const void *arg),
		      const void *arg, int status)
{
	GQueue found = G_QUEUE_INIT;
	GList *link, *following;

	g_mutex_lock(&gate->lock);
	for (unsigned i = BACKEND_DEMAND; i <= BACKEND_BACKGROUND; i++) {
		for (link = gate->held[i].head; link; link = following) {
			following = link->next;
			if (match(link->data, arg)) {
				g_queue_unlink(&gate->held[i], link);
				g_queue_push_tail_link(&found, link);
			}
		}
	}
	g_mutex_unlock(&gate->lock);
	while ((link = g_queue_pop_head_link(&found))) {
		trace_request(TRACE_WITHDRAWN, link->data, 0, status);
		complete_request(link->data, status);
	}
}

void gate_withdraw(struct gate *gate,
		   bool (*match)(const struct backend_request *req, const void *arg),
		   const void *arg)
{
	take_back(gate, match, arg, GATE_WITHDRAWN);
}

/* A request that is waited for. */
struct waiting {
	struct gate *gate;
	bool done;
};

static void wake_caller(struct backend_request *req)
{
	struct waiting *waiting = req->user;
	struct gate *gate = waiting->gate;

	g_mutex_lock(&gate->lock);
	waiting->done = true;
	g_cond_broadcast(&gate->changed);
	g_mutex_unlock(&gate->lock);
}

int gate_call(struct gate *gate, struct backend_request *req)
{
	struct waiting waiting = {.gate = gate};

	req->done = wake_caller;
	req->user = &waiting;
	gate_submit(gate, req);
	g_mutex_lock(&gate->lock);
	while (!waiting.done)
		g_cond_wait(&gate->changed, &gate->lock);
	g_mutex_unlock(&gate->lock);
	return req->status;
}

void gate_carried(struct gate *gate, uint32_t count)
{
	bool waited;

	g_mutex_lock(&gate->lock);
	waited = gate->carried >= GATE_CARRIED;
	gate->carried -= MIN(count, gate->carried); /* what was cancelled never passed */
	waited = waited && gate->carried < GATE_CARRIED;
	g_mutex_unlock(&gate->lock);
	if (waited)
		let_pass(gate);
}

void gate_pause(struct gate *gate, bool pause)
{
	g_mutex_lock(&gate->lock);
	gate->paused = pause;
	g_mutex_unlock(&gate->lock);
	let_pass(gate);
}

bool gate_paused(struct gate *gate)
{
	return atomic_load(&gate->paused);
}

void gate_throttle(struct gate *gate, uint64_t bytes_per_second)
{
	g_mutex_lock(&gate->lock);
	gate->bandwidth = bytes_per_second;
	gate->tokens = 0;
	gate->refilled = g_get_monotonic_time();
	g_mutex_unlock(&gate->lock);
	let_pass(gate);
}

void gate_limit_requests(struct gate *gate, unsigned per_second)
{
	g_mutex_lock(&gate->lock);
	gate->requests = per_second;
	gate->calls_left = MIN(per_second, 1); /* a limit of one a second lets the first pass */
	gate->calls_refilled = g_get_monotonic_time();
	g_mutex_unlock(&gate->lock);
	let_pass(gate);
}

void gate_share(struct gate *gate, struct cap *cap, uint64_t bandwidth, unsigned requests)
{
	g_mutex_lock(&gate->lock);
	gate->cap = cap;
	if (cap)
		cap_limit(cap, bandwidth, requests);
	g_mutex_unlock(&gate->lock);
	let_pass(gate);
}

void gate_yield(struct gate *gate, unsigned target_ms)
{
	g_mutex_lock(&gate->lock);
	yield_init(&gate->yield, target_ms);
	g_mutex_unlock(&gate->lock);
	let_pass(gate);
}

struct gate_yielding gate_yielding(struct gate *gate)
{
	g_mutex_lock(&gate->lock);
	struct gate_yielding yielding = {
		.target_ms = (unsigned)(gate->yield.target / 1000),
		.delay_ms = (unsigned)(MAX(gate->yield.delay, 0) / 1000),
		.window = yield_window(&gate->yield),
		.under_way = gate->background,
	};
	g_mutex_unlock(&gate->lock);
	return yielding;
}

uint64_t gate_passed(struct gate *gate)
{
	return gate->passed;
}

unsigned gate_requests(struct gate *gate)
{
	return atomic_load(&gate->requests);
}

uint64_t gate_bandwidth(struct gate *gate)
{
	return atomic_load(&gate->bandwidth);
}

struct gate *gate_new(struct backend *backend, uint64_t bytes_per_second)
{
	struct gate *gate = g_new0(struct gate, 1);

	gate->backend = backend;
	yield_init(&gate->yield, 0);
	g_mutex_init(&gate->lock);
	g_mutex_init(&gate->clock.lock);
	g_cond_init(&gate->changed);
	for (size_t i = 0; i < G_N_ELEMENTS(gate->held); i++)
		g_queue_init(&gate->held[i]);
	gate->bandwidth = bytes_per_second;
	gate->refilled = g_get_monotonic_time();
	gate->timer = g_timeout_add(TICK_MS, let_pass_now_and_then, gate);
	return gate;
}

static bool any(const struct backend_request *req, const void *arg)
{
	return true;
}

void gate_close(struct gate *gate)
{
	if (!gate)
		return;
	g_source_remove(gate->timer);
	g_mutex_lock(&gate->lock);
	gate->closed = true;
	g_mutex_unlock(&gate->lock);
	take_back(gate, any, NULL, -ECANCELED); /* who lets pass finds nothing more */
	g_mutex_lock(&gate->lock);
	while (gate->submitting)
		g_cond_wait(&gate->changed, &gate->lock);
	g_mutex_unlock(&gate->lock);
}

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	g_mutex_clear(&gate->lock);
	g_cond_clear(&gate->changed);
	g_free(gate);
}
