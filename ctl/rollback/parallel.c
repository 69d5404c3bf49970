/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/parallel.h"

#include <stdatomic.h>

#define THREADS 4
#define FEW	16 /* are not worth threads */

struct parallel {
	struct carry *carry;
	gpointer *nodes;
	struct making *makings; /* of each */
	guint count;
	atomic_uint next;
	GThread *threads[THREADS];
};

static gpointer work(gpointer arg)
{
	struct parallel *several = arg;
	guint i;

	while ((i = atomic_fetch_add(&several->next, 1)) < several->count)
		steps_make(several->carry, &several->makings[i]);
	return NULL;
}

struct parallel *parallel_begin(struct carry *carry, gpointer *nodes, guint count)
{
	struct parallel *several = g_new0(struct parallel, 1);

	several->carry = carry;
	several->nodes = nodes;
	several->count = count;
	several->makings = g_new0(struct making, count);
	for (guint i = 0; i < count; i++)
		several->makings[i].node = nodes[i];
	for (guint i = 0; i < THREADS && count >= FEW && target_takes_several(carry->tree->target);
	     i++)
		several->threads[i] = g_thread_try_new("make", work, several, NULL);
	return several;
}

void parallel_end(struct parallel *several, GPtrArray *made)
{
	gpointer *nodes = several->nodes;

	/* this thread helps, or is the only one */
	work(several);
	for (guint i = 0; i < THREADS; i++)
		if (several->threads[i])
			g_thread_join(several->threads[i]);
	for (guint i = 0; i < several->count; i++)
		if (steps_made(several->carry, nodes[i], &several->makings[i]))
			g_ptr_array_add(made, nodes[i]);
	g_free(several->makings);
	g_free(several);
}

/* ---- durable meanwhile ----------------------------------------------------------------------- */

struct syncing {
	const struct tree *tree;
	GThread *thread; /* NULL: not begun */
};

static gpointer sync_both(gpointer arg)
{
	const struct tree *tree = arg;
	int ret = target_sync(tree->target);

	return GINT_TO_POINTER(ret ? ret : tree_sync(tree));
}

struct syncing *syncing_begin(const struct tree *tree)
{
	struct syncing *syncing = g_new0(struct syncing, 1);

	syncing->tree = tree;
	if (target_takes_several(tree->target))
		syncing->thread =
			g_thread_try_new("sync", sync_both, (gpointer)syncing->tree, NULL);
	return syncing;
}

int syncing_end(struct syncing *syncing)
{
	int ret = GPOINTER_TO_INT(syncing->thread ? g_thread_join(syncing->thread)
						  : sync_both((gpointer)syncing->tree));

	g_free(syncing);
	return ret;
}
