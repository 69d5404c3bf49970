/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request that the old server puts off ("later") comes back here and pauses: it has no place
 * among those that are under way, and its bytes count for no limit.  When the pause is over it
 * queues like any other.
 *
 * One that is put off for too long is given up.  The background gives up the sooner the more often
 * waiting came to nothing, so that the crawler does not wait for thousands of files on tape in
 * turn; but not while the old server says "later" of everything (it restarts, say), which is no
 * object's fault.
 *
 * After -EBADMSG a request is asked again too, a few times: what made no sense once may have been
 * damaged on its way, or by a server that is about to end, and is no reason to fail a client.  Not
 * of listings: who lists begins anew, because it may also mean that the directory has changed.
 */
#include "lib/source/gate.h"

#include <stdatomic.h>

#include "lib/base/latch.h"
#include "lib/source/cap.h"
#include "lib/source/server_clock.h"
#include "lib/source/yield.h"

#define TICK_MS 20

#define PAUSE_MIN     (50 * G_TIME_SPAN_MILLISECOND)
#define PAUSE_MAX     (5 * G_TIME_SPAN_SECOND)
#define ANSWERING     G_TIME_SPAN_SECOND /* without another answer: all is put off */
#define SENSELESS_MAX 2

struct gate {
	struct backend *backend;
	GMutex lock;
	/* of struct backend_request, by their link and queue_of() */
	GQueue held[BACKEND_BACKGROUND + 2];
	GSequence *pausing;	    /* of struct backend_request, by due */
	unsigned pausing_demand;    /* those of this priority */
	guint patience;		    /* of the background, while the old server answers others */
	gint64 answered;	    /* when it last did; g_get_monotonic_time() */
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
	GCond changed;	     /* none of them is */
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

/* By priority; but of the background, what trace_id.first is of comes before the rest. */
static unsigned queue_of(const struct backend_request *req)
{
	return req->priority + (req->priority == BACKEND_BACKGROUND && !req->trace.first);
}

static uint32_t bytes_of(const struct backend_request *req)
{
	return req->op == BACKEND_READ || req->op == BACKEND_XATTRS ? req->count : 0;
}

/* Lock held: whether req may pass; takes its tokens. */
static bool take_tokens(struct gate *gate, struct backend_request *req)
{
	uint32_t bytes = bytes_of(req), carried = req->op == BACKEND_XATTRS ? bytes : 0;

	if (gate->paused || !has_window(gate) || (carried && gate->carried >= GATE_CARRIED) ||
	    !has_tokens(gate) || !may_call(gate) || (gate->cap && !cap_take(gate->cap, bytes)))
		return false;
	gate->carried += carried;
	req->gate.carried = carried;
	gate->passed++;
	if (gate->requests)
		gate->calls_left--;
	if (gate->bandwidth)
		gate->tokens -= bytes;
	return true;
}

/* Lock held: so many of its bytes did not come. */
static void give_tokens_back(struct gate *gate, struct backend_request *req, uint32_t bytes)
{
	if (req->priority != BACKEND_BACKGROUND)
		return;
	if (gate->bandwidth)
		gate->tokens = MIN(gate->tokens + bytes, (int64_t)gate->bandwidth);
	if (gate->cap)
		cap_give_back(gate->cap, bytes);
}

/* Lock held: none of it came. */
static void give_all_back(struct gate *gate, struct backend_request *req)
{
	if (req->priority != BACKEND_BACKGROUND)
		return;
	gate->carried -= req->gate.carried;
	req->gate.carried = 0;
	give_tokens_back(gate, req, bytes_of(req));
}

/* ---- pauses ---------------------------------------------------------------------------------- */

/* Lock held: an answer has come. */
static void note_answer(struct gate *gate, const struct backend_request *req, gint64 now)
{
	if (req->status == -EAGAIN)
		return;
	gate->answered = now;
	if (!req->status && req->attempts)
		gate->patience = GATE_PATIENCE;
}

/* Lock held: with a request that was put off just now. */
static bool has_patience(struct gate *gate, const struct backend_request *req, gint64 now)
{
	guint patience = req->hurried ? GATE_PATIENCE / 2 : GATE_PATIENCE;

	if (req->at_leisure)
		return false;
	if (req->here)
		return req->attempts < GATE_PATIENCE;
	if (req->grace)
		return req->attempts < GATE_PATIENCE_GRACE;
	if (req->priority == BACKEND_BACKGROUND && now - gate->answered < ANSWERING)
		patience = MIN(patience, gate->patience);
	if (req->attempts < patience)
		return true;
	gate->patience /= 2;
	return false;
}

/* Lock held: whether it is asked again, and pauses until then. */
static bool pauses(struct gate *gate, struct backend_request *req, gint64 now)
{
	const bool senseless = req->status == -EBADMSG && req->op != BACKEND_READDIR &&
			       req->gate.senseless < SENSELESS_MAX;
	guint before;

	if (gate->closed ||
	    (!senseless && (req->status != -EAGAIN || !has_patience(gate, req, now))))
		return false;
	before = senseless ? req->gate.senseless++ : req->attempts++;
	req->gate.due = now + MIN(PAUSE_MIN << MIN(before, 16), PAUSE_MAX);
	return true;
}

static gint by_due(gconstpointer a, gconstpointer b, gpointer user)
{
	const struct backend_request *x = a, *y = b;

	return x->gate.due < y->gate.due ? -1 : x->gate.due > y->gate.due;
}

/* Lock held. */
static void pause_request(struct gate *gate, struct backend_request *req)
{
	give_all_back(gate, req);
	trace_request(TRACE_HELD, req, 0, req->status);
	gate->pausing_demand += req->priority == BACKEND_DEMAND;
	g_sequence_insert_sorted(gate->pausing, req, by_due, NULL);
}

/* Lock held. */
static struct backend_request *end_pause(struct gate *gate, GSequenceIter *iter)
{
	struct backend_request *req = g_sequence_get(iter);

	g_sequence_remove(iter);
	gate->pausing_demand -= req->priority == BACKEND_DEMAND;
	return req;
}

static void add_to(GQueue *queue, struct backend_request *req)
{
	req->link = (GList){.data = req};
	g_queue_push_tail_link(queue, &req->link);
}

/* Lock held: what has paused long enough queues again, as it was asked for. */
static void end_pauses(struct gate *gate)
{
	GSequenceIter *first;

	while (!g_sequence_iter_is_end(first = g_sequence_get_begin_iter(gate->pausing))) {
		struct backend_request *req = g_sequence_get(first);

		if (req->gate.due > g_get_monotonic_time())
			return;
		end_pause(gate, first);
		req->cookie = req->gate.first_cookie;
		req->verf = req->gate.first_verf;
		add_to(&gate->held[queue_of(req)], req);
	}
}

/* ---- passing --------------------------------------------------------------------------------- */

static void let_pass(struct gate *gate);

static void backend_request_done(struct backend_request *req, unsigned *under_way)
{
	struct gate *gate = req->gate.owner;
	gint64 now = g_get_monotonic_time();
	bool again;

	req->done = req->gate.done;
	if (!req->status)
		server_clock_judge(&gate->clock, req, req->gate.let_in, now);
	g_mutex_lock(&gate->lock);
	yield_answer(&gate->yield, req, gate->background, now - req->gate.let_in, now);
	--*under_way;
	note_answer(gate, req, now);
	again = pauses(gate, req, now);
	if (again)
		pause_request(gate, req); /* from the unlock on it may be anybody's */
	else if (req->status == -EAGAIN)
		give_all_back(gate, req);
	else if (!req->status && req->op == BACKEND_READ && req->data_len < req->count)
		give_tokens_back(gate, req, req->count - req->data_len);
	if (!again && gate->closed && req->status == -EAGAIN)
		req->status = -ECANCELED;
	g_mutex_unlock(&gate->lock);
	if (!again)
		req->done(req);
	let_pass(gate);
}

static void foreground_done(struct backend_request *req)
{
	backend_request_done(req, &req->gate.owner->foreground);
}

static void background_done(struct backend_request *req)
{
	backend_request_done(req, &req->gate.owner->background);
}

/* Lock held, and given up meanwhile. */
static void submit_unlocked(struct gate *gate, struct backend_request *req)
{
	const bool background = req->priority == BACKEND_BACKGROUND;

	++*(background ? &gate->background : &gate->foreground);
	req->gate.owner = gate;
	req->gate.let_in = g_get_monotonic_time();
	req->gate.done = req->done;
	req->done = background ? background_done : foreground_done;
	gate->submitting++;
	g_mutex_unlock(&gate->lock);
	trace_request(TRACE_SUBMITTED, req, 0, 0);
	gate->backend->ops->submit(gate->backend, req);
	g_mutex_lock(&gate->lock);
	if (--gate->submitting == 0 && gate->closed)
		g_cond_broadcast(&gate->changed);
}

static void finish_request(struct backend_request *req, int status)
{
	req->status = status;
	req->done(req);
}

/* Lock held: the next that may pass, or NULL. */
static struct backend_request *take_next(struct gate *gate)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(gate->held) && !gate->closed; i++) {
		GList *link = g_queue_peek_head_link(&gate->held[i]);

		if (!link || (i >= BACKEND_BACKGROUND ? !take_tokens(gate, link->data)
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
		end_pauses(gate);
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
static bool has_to_wait(struct gate *gate, struct backend_request *req)
{
	const bool background = req->priority == BACKEND_BACKGROUND;

	if (!g_queue_is_empty(&gate->held[queue_of(req)]) ||
	    (background && !g_queue_is_empty(&gate->held[BACKEND_BACKGROUND])))
		return true;
	return background ? !take_tokens(gate, req) : gate->foreground >= GATE_FOREGROUND;
}

void gate_submit(struct gate *gate, struct backend_request *req)
{
	g_mutex_lock(&gate->lock);
	if (gate->closed) {
		g_mutex_unlock(&gate->lock);
		finish_request(req, -ECANCELED);
		return;
	}
	if (!req->trace.peer)
		req->trace = trace_current();
	req->attempts = req->gate.senseless = 0;
	req->gate.carried = 0;
	req->gate.first_cookie = req->cookie;
	req->gate.first_verf = req->verf;
	if (has_to_wait(gate, req)) {
		trace_request(TRACE_HELD, req, 0, 0);
		add_to(&gate->held[queue_of(req)], req);
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
	GSequenceIter *iter, *next;

	g_mutex_lock(&gate->lock);
	for (iter = g_sequence_get_begin_iter(gate->pausing); !g_sequence_iter_is_end(iter);
	     iter = next) {
		next = g_sequence_iter_next(iter);
		if (match(g_sequence_get(iter), arg))
			add_to(&found, end_pause(gate, iter));
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(gate->held); i++) {
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
		finish_request(link->data, status);
	}
}

void gate_withdraw(struct gate *gate,
		   bool (*match)(const struct backend_request *req, const void *arg),
		   const void *arg)
{
	take_back(gate, match, arg, GATE_WITHDRAWN);
}

void gate_hurry(struct gate *gate,
		bool (*match)(const struct backend_request *req, const void *arg), const void *arg)
{
	GQueue *held = &gate->held[BACKEND_BACKGROUND + 1];
	GList *following;

	g_mutex_lock(&gate->lock);
	for (GList *link = held->head; link; link = following) {
		following = link->next;
		if (match(link->data, arg)) {
			((struct backend_request *)link->data)->trace.first = true;
			g_queue_unlink(held, link);
			g_queue_push_tail_link(&gate->held[BACKEND_BACKGROUND], link);
		}
	}
	g_mutex_unlock(&gate->lock);
}

static void wake_caller(struct backend_request *req)
{
	latch_count_down(req->user, req->status);
}

int gate_call(struct gate *gate, struct backend_request *req)
{
	struct latch latch;

	latch_init(&latch, 1);
	req->done = wake_caller;
	req->user = &latch;
	gate_submit(gate, req);
	return latch_wait(&latch);
}

void gate_carried(struct gate *gate, struct backend_request *req)
{
	bool waited;

	g_mutex_lock(&gate->lock);
	waited = gate->carried >= GATE_CARRIED;
	gate->carried -= req->gate.carried;
	req->gate.carried = 0;
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

bool gate_demand_is_put_off(struct gate *gate)
{
	bool is;

	g_mutex_lock(&gate->lock);
	is = gate->pausing_demand && !gate->foreground &&
	     g_queue_is_empty(&gate->held[BACKEND_DEMAND]);
	g_mutex_unlock(&gate->lock);
	return is;
}

unsigned gate_pausing(struct gate *gate)
{
	unsigned n;

	g_mutex_lock(&gate->lock);
	n = (unsigned)g_sequence_get_length(gate->pausing);
	g_mutex_unlock(&gate->lock);
	return n;
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
	gate->pausing = g_sequence_new(NULL);
	gate->patience = GATE_PATIENCE;
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
	g_sequence_free(gate->pausing);
	g_mutex_clear(&gate->lock);
	g_cond_clear(&gate->changed);
	g_free(gate);
}
