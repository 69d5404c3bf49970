/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/fetch.h"

#include <errno.h>
#include <unistd.h>

#include "lib/source/gate.h"
#include "retriever/data/durability.h"
#include "retriever/data/refind.h"
#include "retriever/data/rights.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/sparse.h"
#include "retriever/objects/turns.h"
#include "retriever/objects/waiters.h"

#define DEMAND_MIN ((uint64_t)64 << 10) /* costs the old server no more than a byte */
#define WINDOW_MIN ((uint32_t)256 << 10)
#define WINDOW_MAX ((uint32_t)8 << 20)
/* Bytes that are planned at a time; more is planned when half of them have come. */
#define PLAN_MAX ((uint64_t)64 << 20)
/* So many holes of a file are remembered until it is durable; past that zeros are written. */
#define ZEROS_MAX 4096

#define RIGHTS_FIRST 1 /* what plan() returns of a file that is closed (rights.h) */

/* One READ under way. */
struct transfer {
	struct backend_request req;
	struct object *object; /* referenced */
	uint64_t start, end;
	bool background;
	unsigned version;	     /* of the object when it was asked for */
	struct source_object source; /* owns the path */
	uint8_t *copy;		     /* the reply's data where it has to wait */
	size_t copy_len;
	struct transfer *next;
};

static void read_done(struct backend_request *req);
static void transfer_again(struct object *object);
static bool is_of(const struct backend_request *req, const void *object);

static void transfer_free(struct transfer *t)
{
	source_object_clear(&t->source);
	g_free(t->copy);
	object_unref(t->object);
	g_slice_free(struct transfer, t);
}

/* Cuts the set after its first PLAN_MAX bytes. */
static void cut_to_plan(struct migrate_extents *set)
{
	uint64_t left = PLAN_MAX;

	for (size_t i = 0; i < set->n; i++) {
		uint64_t len = set->v[i].end - set->v[i].start;

		if (len > left) {
			migrate_extents_clip(set, set->v[i].start + left);
			return;
		}
		left -= len;
	}
}

/* With the object's lock held: makes the requests for what of [start, end) nobody is fetching. */
static int plan_reads(struct object *object, uint64_t start, uint64_t end,
		      enum backend_priority priority, struct transfer **list)
{
	struct migrate_extents want = MIGRATE_EXTENTS_INIT;
	bool background = priority == BACKEND_BACKGROUND;
	uint32_t chunk = object->retriever->max_read;
	struct source_object source = {0};
	int ret;

	if (object_is_closed(object))
		return RIGHTS_FIRST;
	ret = damage_found(object->retriever) ? -EIO : object_lacks(object, start, end, &want);

	if (!ret && want.n)
		ret = object_source(object, &source);
	if (!ret)
		ret = migrate_extents_remove_all(&want, &file_of(object)->inflight[0]);
	if (!ret && background)
		ret = migrate_extents_remove_all(&want, &file_of(object)->inflight[1]);
	cut_to_plan(&want);
	for (size_t i = want.n; !ret && i-- > 0;) {
		uint64_t at = want.v[i].end, low = want.v[i].start;

		ret = migrate_extents_add(&file_of(object)->inflight[background], low, at);
		while (at > low && !ret) { /* from the end, so that the list is in order */
			struct transfer *t = g_slice_new0(struct transfer);

			t->end = at;
			t->start = low + (at - low - 1) / chunk * chunk;
			at = t->start;
			t->background = background;
			t->version = file_of(object)->version;
			t->object = object_ref(object);
			t->req.op = BACKEND_READ;
			t->req.priority = priority;
			t->req.trace = trace_current();
			t->req.offset = t->start;
			t->req.count = t->end - t->start;
			t->req.holes = true;
			t->req.done = read_done;
			t->req.user = t;
			t->next = *list;
			*list = t;
			source_object_copy(&t->source, &source);
			t->req.object = t->source;
		}
	}
	source_object_clear(&source);
	migrate_extents_clear(&want);
	return ret;
}

static void submit_reads(struct retriever *retriever, struct transfer *list)
{
	while (list) {
		struct transfer *next = list->next;

		gate_submit(retriever->gate, &list->req);
		list = next;
	}
}

/* Lock held: later requests do not join this transfer any more. */
static void clear_inflight(const struct transfer *t)
{
	migrate_extents_remove(&file_of(t->object)->inflight[t->background], t->start, t->end);
}

static void forget_transfer(struct transfer *list)
{
	while (list) {
		struct transfer *next = list->next;
		struct object *object = list->object;

		g_mutex_lock(&object->lock);
		clear_inflight(list);
		g_mutex_unlock(&object->lock);
		transfer_free(list);
		list = next;
	}
}

struct rights_wanted {
	struct object *object; /* referenced */
	bool demand;
};

static void rights_told(void *arg, int status, enum error_code error)
{
	struct rights_wanted *wanted = arg;
	struct object *object = wanted->object;

	g_mutex_lock(&object->lock);
	file_of(object)->asks_rights[wanted->demand] = false;
	g_mutex_unlock(&object->lock);
	if (status == -ESTALE)
		refind_start(object, transfer_again);
	else if (status)
		object_fail(object, status, error);
	else
		transfer_again(object);
	object_unref(object);
	g_free(wanted);
}

static void ask_rights_first(struct object *object)
{
	struct rights_wanted *wanted;
	bool demand = false, asked;

	g_mutex_lock(&object->lock);
	for (GList *l = object->waiters.head; l; l = l->next)
		demand |= !((struct waiter *)l->data)->background;
	asked = file_of(object)->asks_rights[demand];
	file_of(object)->asks_rights[demand] = true;
	g_mutex_unlock(&object->lock);
	if (asked)
		return;
	wanted = g_new(struct rights_wanted, 1);
	*wanted = (struct rights_wanted){object_ref(object), demand};
	rights_ask(object, demand, rights_told, wanted);
}

static void submit_or_fail(struct object *object, struct transfer *list, int ret)
{
	if (ret == 0) {
		submit_reads(object->retriever, list);
		return;
	}
	forget_transfer(list);
	if (ret == RIGHTS_FIRST) {
		ask_rights_first(object);
		return;
	}
	if (ret == -ESTALE)
		refind_start(object, transfer_again);
	else
		object_fail(object, ret, ret == -EIO ? QM_DAMAGED : QM_NO_MEMORY);
}

/* offset, or the next multiple of a power of two. */
static uint64_t align_up(uint64_t offset, uint64_t unit)
{
	return offset > INT64_MAX - unit ? INT64_MAX : (offset + unit - 1) & ~(unit - 1);
}

/* With the object's lock held: how far a demand fetches, beyond what is asked for. */
static uint64_t window_end(struct object *object, uint64_t *start, uint64_t end)
{
	uint64_t limit;

	if (*start == file_of(object)->next_offset && file_of(object)->window)
		file_of(object)->window = MIN(file_of(object)->window * 2, WINDOW_MAX);
	else
		file_of(object)->window = WINDOW_MIN;
	file_of(object)->next_offset = end;
	*start &= ~(uint64_t)(WINDOW_MIN - 1);
	limit = MAX(end, *start + file_of(object)->window);
	return align_up(limit, WINDOW_MIN);
}

void fetch_range_now(struct object *object, uint64_t start, uint64_t end, bool background,
		     object_done_fn done, void *arg)
{
	struct transfer *list = NULL;
	uint64_t from = start, to = end;
	int ret;

	g_mutex_lock(&object->lock);
	if (object_has(object, start, end)) {
		if (!background)
			file_of(object)->next_offset = end;
		g_mutex_unlock(&object->lock);
		done(arg, 0);
		return;
	}
	object_ref(object); /* the waiter may be answered before this returns */
	waiters_add(object, start, end, background, done, arg);
	if (background) {
		ret = plan_reads(object, start, end, BACKEND_BACKGROUND, &list);
	} else {
		struct transfer *ahead = NULL, **tail = &list;

		to = window_end(object, &from, end);
		ret = plan_reads(object, start & ~(DEMAND_MIN - 1), align_up(end, DEMAND_MIN),
				 BACKEND_DEMAND, &list);
		if (!ret)
			ret = plan_reads(object, from, to, BACKEND_READAHEAD, &ahead);
		while (*tail)
			tail = &(*tail)->next;
		*tail = ahead;
	}
	g_mutex_unlock(&object->lock);
	if (!list && !ret) {
		struct trace_id id = trace_current();

		trace_event(TRACE_SHARED, &id, "range", start, end - start, 0, 0);
		if (id.first)
			gate_hurry(object->retriever->gate, is_of, object);
	}
	submit_or_fail(object, list, ret);
	object_unref(object);
}

struct fetch_later {
	struct object *object; /* referenced */
	uint64_t start, end;
	bool background;
	struct trace_id trace;
	object_done_fn done;
	void *arg;
};

static void fetch_later(void *arg, int status)
{
	struct fetch_later *later = arg;
	struct trace_id before = trace_enter(later->trace);

	fetch_range_now(later->object, later->start, later->end, later->background, later->done,
			later->arg);
	trace_enter(before);
	object_unref(later->object);
	g_slice_free(struct fetch_later, later);
}

void fetch_range(struct object *object, uint64_t start, uint64_t end, bool background,
		 object_done_fn done, void *arg)
{
	struct fetch_later *later;
	bool here;

	if (object->normal) { /* whatever it is */
		done(arg, 0);
		return;
	}
	g_mutex_lock(&object->lock);
	here = object_has(object, start, end);
	g_mutex_unlock(&object->lock);
	if (here || !durability_crowded(object->retriever, background)) {
		fetch_range_now(object, start, end, background, done, arg);
		return;
	}
	later = g_slice_new(struct fetch_later);
	*later = (struct fetch_later){object_ref(object), start, end, background,
				      trace_current(),	  done,	 arg};
	durability_after_round(object->retriever, fetch_later, later);
}

/* Called when the object has a new handle on the old server, or when replies to earlier reads
 * cannot be used: answers the waiters whose ranges are here, and reads again for the others. */
static void transfer_again(struct object *object)
{
	struct transfer *list = NULL;
	GQueue waiters = G_QUEUE_INIT;
	int ret = 0;

	g_mutex_lock(&object->lock);
	waiters_take(object, &waiters); /* a size was cut: no reply answers them */
	for (GList *l = object->waiters.head; l && !ret; l = l->next) {
		struct waiter *w = l->data;
		struct trace_id before = trace_enter(w->trace);

		ret = plan_reads(object, w->start, w->end,
				 w->background ? BACKEND_BACKGROUND : BACKEND_DEMAND, &list);
		trace_enter(before);
	}
	g_mutex_unlock(&object->lock);
	waiters_run(object->retriever, &waiters, 0);
	submit_or_fail(object, list, ret);
}

/* Lock held: what was asked for is not the file's content any more, maybe. */
static bool superseded(const struct transfer *t)
{
	return t->version != file_of(t->object)->version;
}

/* The bytes go to where they are still missing.  None do if there is a new version: with the caller
 * having entered, there will not be one before it leaves. */
static int write_missing(struct transfer *t, const uint8_t *data, size_t len,
			 struct migrate_extents *todo, struct migrate_extents *zeros,
			 unsigned *lost_writes)
{
	struct object *object = t->object;
	bool adopted;
	int ret = 0;

	g_mutex_lock(&object->lock);
	*lost_writes = file_of(object)->lost_writes;
	adopted = object->record.flags & MIGRATE_REC_ADOPTED;
	if (file_of(object)->zeros.n >= ZEROS_MAX)
		zeros = NULL;
	if (damage_found(object->retriever)) /* the same may have come before, and got lost */
		ret = -EIO;
	else if (!superseded(t))
		ret = object_lacks(object, t->start, t->start + len, todo);
	g_mutex_unlock(&object->lock);
	for (size_t i = 0; i < todo->n && ret >= 0; i++) {
		const struct migrate_extent *e = &todo->v[i];

		ret = (adopted ? sparse_correct
			       : sparse_pwrite)(object->fd, data + (e->start - t->start),
						e->end - e->start, e->start, zeros);
		if (ret > 0)
			COUNT_ADD(object->retriever, bytes_corrected, e->end - e->start);
	}
	return MIN(ret, 0);
}

/* Having entered (fill_enter): writes, answers, queues for durability. */
static void apply_data(struct transfer *t, const uint8_t *data, size_t len)
{
	struct object *object = t->object;
	struct migrate_extents todo = MIGRATE_EXTENTS_INIT, zeros = MIGRATE_EXTENTS_INIT;
	GQueue waiters = G_QUEUE_INIT;
	unsigned lost_writes;
	int ret = write_missing(t, data, len, &todo, &zeros, &lost_writes);

	g_mutex_lock(&object->lock);
	if (lost_writes != file_of(object)->lost_writes)
		ret = -EIO; /* maybe these, too */
	if (!ret && !object->normal) {
		ret = migrate_extents_add_all(&file_of(object)->zeros, &zeros);
		if (!ret)
			ret = migrate_extents_add_all(&file_of(object)->filled, &todo);
	}
	if (!ret) {
		object->search.failures = 0;
		object_forget_later(object);
		waiters_take(object, &waiters);
	}
	turns_leave(object); /* a waiter that another reply answers may ask for a sync at once */
	g_mutex_unlock(&object->lock);
	trace_event(TRACE_WRITTEN, &t->req.trace, "range", t->start, len, 0, ret);
	if (ret)
		object_fail(object, ret,
			    ret == -ENOSPC || ret == -EDQUOT  ? QM_NO_SPACE
			    : damage_found(object->retriever) ? QM_DAMAGED
							      : QM_WRITE_REFUSED);
	else
		COUNT_ADD(object->retriever, bytes_fetched, len);
	waiters_run(object->retriever, &waiters, 0);
	durability_queue(object, len);
	migrate_extents_clear(&todo);
	migrate_extents_clear(&zeros);
}

/* Plans what waiters still want, where little enough is on its way. */
static void plan_more(struct object *object, bool background)
{
	bool more;

	g_mutex_lock(&object->lock);
	more = !g_queue_is_empty(&object->waiters) &&
	       migrate_extents_bytes(&file_of(object)->inflight[background]) < PLAN_MAX / 2;
	g_mutex_unlock(&object->lock);
	if (more)
		transfer_again(object);
}

/* Without it. */
static void drop_transfer(struct transfer *t)
{
	struct object *object = object_ref(t->object);
	bool background = t->background;

	t->next = NULL;
	forget_transfer(t);
	plan_more(object, background);
	object_unref(object);
}

/* Goes on with what a short reply left out, or ends. */
static void next_part(struct transfer *t, size_t len)
{
	struct object *object = t->object;
	bool rest = t->start + len < t->end, old;

	g_mutex_lock(&object->lock);
	old = superseded(t);
	if (!old)
		migrate_extents_remove(&file_of(object)->inflight[t->background], t->start,
				       t->start + len);
	g_mutex_unlock(&object->lock);
	if (old) {
		drop_transfer(t);
		return;
	}
	t->start += len;
	if (!rest) {
		plan_more(object, t->background);
		transfer_free(t);
		return;
	}
	g_clear_pointer(&t->copy, g_free);
	t->req.op = BACKEND_READ;
	t->req.done = read_done;
	t->req.offset = t->start;
	t->req.count = t->end - t->start;
	gate_submit(object->retriever->gate, &t->req);
}

static void apply_deferred(struct object *object, void *arg)
{
	struct transfer *t = arg;

	apply_data(t, t->copy, t->copy_len);
	next_part(t, t->copy_len);
}

static void keep_copy(struct transfer *t, const uint8_t *data, size_t len)
{
	if (t->copy)
		return;
	t->copy = g_memdup2(data, len);
	t->copy_len = len;
}

static void deliver_data(struct transfer *t, const uint8_t *data, size_t len)
{
	if (!fill_try_enter(t->object)) {
		/* a bracket is open: the data has to outlive the reply */
		keep_copy(t, data, len);
		if (!fill_enter(t->object, apply_deferred, t))
			return;
		data = t->copy;
	}
	apply_data(t, data, len);
	next_part(t, len);
}

/* Whether the bytes are of the version that the record names.  A file that was read by its handle
 * is the object, even if its file system has another fsid now, and so every file of the source
 * another number. */
static bool same_as_recorded(struct transfer *t)
{
	const struct migrate_record *rec = &t->object->record;
	const struct source_attr *attr = &t->req.attr;
	bool same;

	g_mutex_lock(&t->object->lock);
	same = (attr->fileid == rec->fileid || t->source.handle_len) && attr->size == rec->size &&
	       attr->mtime == rec->mtime && attr->ctime == rec->ctime;
	g_mutex_unlock(&t->object->lock);
	return same;
}

static enum error_code error_for(int status)
{
	switch (status) {
	case -EACCES:
	case -EPERM:
		return QM_READ_FORBIDDEN;
	case -EREMOTEIO:
		return QM_READ_PART;
	default:
		return QM_READ_FAILED;
	}
}

/* The old server says so of these bytes only. */
static bool of_the_range(int status)
{
	return status == -EREMOTEIO || status == -EBADMSG || status == -EAGAIN;
}

static void transfer_failed(struct transfer *t, int status, enum error_code error)
{
	struct object *object = t->object;
	uint64_t start = t->start, end = t->end;
	bool background = t->background, again, seek, more = false;
	GQueue waiters = G_QUEUE_INIT;

	if (status == GATE_WITHDRAWN) { /* somebody may wait for it by now */
		if (t->req.attempts)
			object_note_later(object);
		drop_transfer(t);
		return;
	}
	/* a path that leads nowhere any more, or to something else */
	if (status == -ENOENT || status == -ENOTDIR || status == -EISDIR)
		status = -ESTALE;
	if (status == -EBUSY) {
		status = -EACCES;
		error = QM_READ_LOCKED;
	}
	g_mutex_lock(&object->lock);
	/* found again, or something else, since this was sent; or clients wrote all of it */
	again = superseded(t) || object_has(object, start, end) ||
		(status == -ESTALE && !error && object_source_moved(object, &t->source));
	seek = status == -ESTALE && !error;
	error = error ? error : error_for(status);
	if (!again)
		clear_inflight(t);
	/* under the lock: a retry in between would have cleared what this is about to set */
	if (!again && !seek && of_the_range(status))
		more = object_fail_range(object, start, end, status, error, &waiters);
	else if (!again && !seek)
		object_fail_locked(object, status, error, &waiters);
	g_mutex_unlock(&object->lock);
	if (again) {
		drop_transfer(t);
		return;
	}
	object_ref(object);
	transfer_free(t);
	waiters_run(object->retriever, &waiters, 0);
	if (seek)
		refind_start(object, transfer_again);
	else if (more)
		plan_more(object, background);
	else if (status == -EAGAIN) /* nobody waits for other parts of it */
		gate_withdraw(object->retriever->gate, is_of, object);
	object_unref(object);
}

/* A READ reply without attributes: they are asked for before the bytes count. */
static void attr_done(struct backend_request *req)
{
	struct transfer *t = req->user;

	if (req->status)
		transfer_failed(t, req->status, req->why);
	else if (!same_as_recorded(t))
		transfer_failed(t, -ESTALE, QM_CHANGED);
	else
		deliver_data(t, t->copy, t->copy_len);
}

static void read_done(struct backend_request *req)
{
	struct transfer *t = req->user;

	if (req->status) {
		transfer_failed(t, req->status, req->why);
		return;
	}
	if (req->has_attr && !same_as_recorded(t)) {
		transfer_failed(t, -ESTALE, QM_CHANGED);
		return;
	}
	if (req->data_len == 0) { /* end of file, or no progress: neither can be */
		transfer_failed(t, -EBADMSG, QM_READ_SHORT);
		return;
	}
	if (!req->has_attr) {
		keep_copy(t, req->data, req->data_len);
		req->op = BACKEND_GETATTR;
		req->done = attr_done;
		gate_submit(t->object->retriever->gate, req);
		return;
	}
	deliver_data(t, req->data, req->data_len);
}

static bool is_of(const struct backend_request *req, const void *object)
{
	return (req->done == read_done || req->done == attr_done) &&
	       ((const struct transfer *)req->user)->object == object;
}

bool fetch_cancel(struct object *object, void *arg)
{
	return waiters_cancel(object, arg, is_of);
}
