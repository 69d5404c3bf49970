/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/backend.h"

void backend_prepare(struct backend_request *req)
{
	req->link = (GList){.data = req};
	req->status = 0;
	req->why = QM_NONE;
	req->here = req->grace = req->at_leisure = false;
	req->eof = false;
	req->has_attr = false;
	req->handle_len = 0;
	req->data = NULL;
	req->data_len = 0;
	req->text = NULL;
	req->batch = NULL;
	req->xattrs = NULL;
}

void backend_forget(struct backend_request *req)
{
	g_clear_pointer(&req->text, g_free);
	g_clear_pointer(&req->batch, backend_batch_free);
	g_clear_pointer(&req->xattrs, source_xattrs_free);
	req->data_len = 0;
	req->has_attr = false;
	req->handle_len = 0;
}

void backend_complete(struct backend_request *req, int status)
{
	struct trace_id before;

	req->status = status;
	if (status < 0) {
		backend_forget(req);
		req->eof = false;
	}
	trace_request(TRACE_ANSWERED, req, req->batch ? req->batch->entries->len : req->data_len,
		      status);
	before = trace_enter(req->trace);
	req->done(req);
	trace_enter(before);
}

void backend_watch_begin(struct backend_watch *watch)
{
	if (atomic_fetch_add_explicit(&watch->waiting, 1, memory_order_relaxed) == 0)
		atomic_store_explicit(&watch->since, g_get_monotonic_time(), memory_order_relaxed);
}

void backend_watch_end(struct backend_watch *watch)
{
	atomic_fetch_sub_explicit(&watch->waiting, 1, memory_order_relaxed);
}

void backend_watch_answer(struct backend_watch *watch, gint64 now)
{
	atomic_store_explicit(&watch->answered, now, memory_order_relaxed);
}

unsigned backend_watch_away(struct backend_watch *watch)
{
	gint64 since = atomic_load_explicit(&watch->since, memory_order_relaxed);
	gint64 answered = atomic_load_explicit(&watch->answered, memory_order_relaxed);
	gint64 away;

	if (atomic_load_explicit(&watch->waiting, memory_order_relaxed) == 0)
		return 0;
	away = g_get_monotonic_time() - MAX(since, answered);
	return away > 0 ? (unsigned)(away / G_USEC_PER_SEC) : 0;
}

uint32_t backend_layer_max_read(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->max_read(inner);
}

unsigned backend_layer_away(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->away(inner);
}

bool backend_may_have(unsigned carries, mode_t mode)
{
	return carries && (!S_ISLNK(mode) || (carries & BACKEND_TELLS_LINKS));
}

unsigned backend_layer_carries(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->carries ? inner->ops->carries(inner) : 0;
}

char *backend_layer_not_carried(struct backend *backend)
{
	struct backend *inner = ((struct backend_layer *)backend)->inner;

	return inner->ops->not_carried ? inner->ops->not_carried(inner) : NULL;
}
