/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/gaps.h"

#include "retriever/data/fetch.h"

static int by_length(gconstpointer a, gconstpointer b)
{
	const struct migrate_extent *x = a, *y = b;
	uint64_t lx = x->end - x->start, ly = y->end - y->start;

	return lx < ly ? -1 : lx > ly;
}

struct gaps {
	gint left;
	gint status;
	object_done_fn done;
	void *arg;
};

static void gap_done(void *arg, int status)
{
	struct gaps *gaps = arg;

	if (status)
		g_atomic_int_set(&gaps->status, status);
	if (g_atomic_int_dec_and_test(&gaps->left)) {
		gaps->done(gaps->arg, g_atomic_int_get(&gaps->status));
		g_free(gaps);
	}
}

void gaps_close(struct object *object, object_done_fn done, void *arg)
{
	struct gaps *gaps = g_new0(struct gaps, 1);
	GArray *sorted = g_array_new(FALSE, FALSE, sizeof(struct migrate_extent));
	guint n;

	gaps->done = done;
	gaps->arg = arg;
	g_mutex_lock(&object->lock);
	g_array_append_vals(sorted, object->record.missing.v, object->record.missing.n);
	g_mutex_unlock(&object->lock);
	g_array_sort(sorted, by_length);
	n = sorted->len > OBJECT_EXTENTS_KEPT ? sorted->len - OBJECT_EXTENTS_KEPT : 0;
	gaps->left = n + 1;
	for (guint i = 0; i < n; i++) {
		struct migrate_extent *e = &g_array_index(sorted, struct migrate_extent, i);

		fetch_range_now(object, e->start, e->end, false, gap_done, gaps);
	}
	gap_done(gaps, 0);
	g_array_free(sorted, TRUE);
}
