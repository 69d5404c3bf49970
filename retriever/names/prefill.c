/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/prefill.h"

#include "lib/source/gate.h"
#include "retriever/names/fill.h"

#define TICK_MS	   100
#define IDLE_TICKS 5   /* ticks without demand before a fill starts */
#define QUEUE_MAX  512 /* more are left to the crawler */

struct prefill {
	struct retriever *retriever;
	GMutex lock;
	GQueue queue; /* of struct object, referenced */
	bool busy;    /* a fill is under way */
	unsigned idle;
	guint timer; /* 0: stopped */
};

static void filled(void *arg, int status)
{
	struct object *object = arg;
	struct prefill *prefill = object->retriever->prefill;

	g_mutex_lock(&prefill->lock);
	prefill->busy = false;
	g_mutex_unlock(&prefill->lock);
	object_unref(object);
}

static gboolean tick_prefill(gpointer arg)
{
	struct prefill *prefill = arg;
	struct object *object = NULL;

	g_mutex_lock(&prefill->lock);
	if (retriever_clients_wait(prefill->retriever) || gate_paused(prefill->retriever->gate))
		prefill->idle = 0;
	if (++prefill->idle > IDLE_TICKS && !prefill->busy)
		object = g_queue_pop_head(&prefill->queue);
	prefill->busy = prefill->busy || object;
	g_mutex_unlock(&prefill->lock);
	if (object && prefill->retriever->config->stub_attributes == STUB_LAZY)
		directory_fill_names(object, filled, object);
	else if (object)
		directory_fill(object, BACKEND_BACKGROUND, false, filled, object);
	return G_SOURCE_CONTINUE;
}

void prefill_touch(struct object *object)
{
	struct prefill *prefill = object->retriever->prefill;
	bool add;

	g_mutex_lock(&prefill->lock);
	prefill->idle = 0;
	add = prefill->timer && prefill->queue.length < QUEUE_MAX &&
	      !g_queue_find(&prefill->queue, object);
	if (add)
		g_queue_push_tail(&prefill->queue, object_ref(object));
	g_mutex_unlock(&prefill->lock);
}

static void object_release(gpointer object)
{
	object_unref(object);
}

struct prefill *prefill_new(struct retriever *retriever)
{
	struct prefill *prefill = g_new0(struct prefill, 1);

	prefill->retriever = retriever;
	g_mutex_init(&prefill->lock);
	g_queue_init(&prefill->queue);
	prefill->timer = g_timeout_add(TICK_MS, tick_prefill, prefill);
	return prefill;
}

void prefill_stop(struct prefill *prefill)
{
	GQueue queue = G_QUEUE_INIT;
	guint timer;

	if (!prefill)
		return;
	g_mutex_lock(&prefill->lock);
	timer = prefill->timer;
	prefill->timer = 0;
	queue = prefill->queue;
	g_queue_init(&prefill->queue);
	g_mutex_unlock(&prefill->lock);
	if (timer)
		g_source_remove(timer);
	g_queue_clear_full(&queue, object_release);
}

void prefill_free(struct prefill *prefill)
{
	if (!prefill)
		return;
	g_mutex_clear(&prefill->lock);
	g_free(prefill);
}
