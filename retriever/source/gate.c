/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gate.h"

#include <errno.h>

#define TICK_MS 20

struct gate {
	struct backend *backend;
	GMutex lock;
	GQueue held; /* of struct backend_request, by their link */
	uint64_t bandwidth;
	int64_t tokens; /* bytes; may go below zero by one request */
	gint64 refilled;
	uint64_t carried; /* bytes; see gate_submit() */
	bool paused;
	bool closed;
	unsigned submitting; /* calls of the backend's submit under way */
	GCond idle;
	guint timer;
};

/* Lock held. */
static void refill(struct gate *gate)
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
		refill(gate);
	return !gate->bandwidth || gate->tokens > 0;
}

/* Lock held: whether req may pass; takes its tokens. */
static bool pass(struct gate *gate, const struct backend_request *req)
{
	uint32_t carried = req->op == BACKEND_XATTRS ? req->count : 0;

	if (gate->paused || (carried && gate->carried >= GATE_CARRIED) || !has_tokens(gate))
		return false;
	gate->carried += carried;
	if (gate->bandwidth)
		gate->tokens -= req->op == BACKEND_READ ? req->count : carried;
	return true;
}

/* Lock held, and given up meanwhile. */
static void submit(struct gate *gate, struct backend_request *req)
{
	gate->submitting++;
	g_mutex_unlock(&gate->lock);
	gate->backend->ops->submit(gate->backend, req);
	g_mutex_lock(&gate->lock);
	if (--gate->submitting == 0)
		g_cond_broadcast(&gate->idle);
}

static void cancel(struct backend_request *req)
{
	req->status = -ECANCELED;
	req->done(req);
}

static void let_pass(struct gate *gate)
{
	GList *link;

	g_mutex_lock(&gate->lock);
	while ((link = g_queue_peek_head_link(&gate->held)) && pass(gate, link->data)) {
		g_queue_unlink(&gate->held, link);
		submit(gate, link->data);
	}
	g_mutex_unlock(&gate->lock);
}

static gboolean tick(gpointer arg)
{
	let_pass(arg);
	return G_SOURCE_CONTINUE;
}

void gate_submit(struct gate *gate, struct backend_request *req)
{
	bool background = req->priority == BACKEND_BACKGROUND;

	g_mutex_lock(&gate->lock);
	if (gate->closed) {
		g_mutex_unlock(&gate->lock);
		cancel(req);
		return;
	}
	if (background && (!g_queue_is_empty(&gate->held) || !pass(gate, req))) {
		req->link.data = req;
		req->link.next = req->link.prev = NULL;
		g_queue_push_tail_link(&gate->held, &req->link);
	} else {
		submit(gate, req);
	}
	g_mutex_unlock(&gate->lock);
}

struct call {
	GMutex lock;
	GCond cond;
	bool done;
};

static void call_done(struct backend_request *req)
{
	struct call *call = req->user;

	g_mutex_lock(&call->lock);
	call->done = true;
	g_cond_signal(&call->cond);
	g_mutex_unlock(&call->lock);
}

int gate_call(struct gate *gate, struct backend_request *req)
{
	struct call call = {.done = false};

	g_mutex_init(&call.lock);
	g_cond_init(&call.cond);
	req->done = call_done;
	req->user = &call;
	gate_submit(gate, req);
	g_mutex_lock(&call.lock);
	while (!call.done)
		g_cond_wait(&call.cond, &call.lock);
	g_mutex_unlock(&call.lock);
	g_mutex_clear(&call.lock);
	g_cond_clear(&call.cond);
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
	bool paused;

	g_mutex_lock(&gate->lock);
	paused = gate->paused;
	g_mutex_unlock(&gate->lock);
	return paused;
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

uint64_t gate_bandwidth(struct gate *gate)
{
	uint64_t bandwidth;

	g_mutex_lock(&gate->lock);
	bandwidth = gate->bandwidth;
	g_mutex_unlock(&gate->lock);
	return bandwidth;
}

struct gate *gate_new(struct backend *backend, uint64_t bytes_per_second)
{
	struct gate *gate = g_new0(struct gate, 1);

	gate->backend = backend;
	g_mutex_init(&gate->lock);
	g_cond_init(&gate->idle);
	g_queue_init(&gate->held);
	gate->bandwidth = bytes_per_second;
	gate->refilled = g_get_monotonic_time();
	gate->timer = g_timeout_add(TICK_MS, tick, gate);
	return gate;
}

void gate_close(struct gate *gate)
{
	GQueue held;
	GList *link;

	if (!gate)
		return;
	g_source_remove(gate->timer);
	g_mutex_lock(&gate->lock);
	gate->closed = true;
	held = gate->held;
	g_queue_init(&gate->held); /* who lets pass finds nothing more */
	while (gate->submitting)
		g_cond_wait(&gate->idle, &gate->lock);
	g_mutex_unlock(&gate->lock);
	while ((link = g_queue_pop_head_link(&held)))
		cancel(link->data);
}

void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	g_mutex_clear(&gate->lock);
	g_cond_clear(&gate->idle);
	g_free(gate);
}
