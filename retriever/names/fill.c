/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listing the old directory, page by page, and deciding that every name is here (I12).
 *
 * A fill is over when nothing is pending: its listing has come to the end, or failed, and
 * fill_page.c has given back every page.  The listing counts as pending until its last page does,
 * and a page counts before a worker can make it.  So when a fill is over each listed entry is here,
 * or fill->name_errors says why it is not.  A directory that changes while it is listed (-EBADMSG)
 * is listed anew, and a directory in which some listed names were not found is listed once more
 * (name_errors.h).
 *
 * A background fill first lists the directory, all of it or as much as there is room for, and then
 * makes the entries in the order of fileids (fill_order.h), because the old server may have disks.
 * A fill for a client makes each page as it comes, and so does a listing that is only summed up.  A
 * listing that repeats its names is noticed only when they are made, so once a name comes again no
 * more entries are kept before the kept ones are made.
 *
 * A fill that left nothing out makes the directory `complete`: the retriever makes no name in it
 * any more (directory_names_fixed()).  The record says FILLED when no fill writes there and no
 * bracket is open.  A crash before that leaves an unfilled directory, and the next fill finds its
 * names there.
 */
#include "retriever/names/fill.h"

#include <errno.h>

#include "lib/base/flags.h"
#include "lib/report/losses.h"
#include "lib/source/gate.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/name_diff.h"
#include "retriever/data/refind.h"
#include "retriever/data/rights.h"
#include "retriever/data/version.h"
#include "retriever/making/data_hints.h"
#include "retriever/names/fill_order.h"
#include "retriever/names/fill_page.h"
#include "retriever/names/fill_stage.h"
#include "retriever/names/fill_state.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/turns.h"
#include "retriever/objects/waiters.h"

#define PAGES_AHEAD 2	  /* listed and not made yet */
#define THERE_SPARE 10000 /* names of pages of the listing before, that are still made */

static void list_next(struct fill *fill);
static void make_kept(void *arg);
static void list_anew(struct fill *fill);
static void listing_failed(struct fill *fill, int status);

/* With the lock held: whether a fill of at least this priority is on its way. */
static bool has_running(struct object *object, enum backend_priority priority)
{
	for (GSList *l = directory_of(object)->fills; l; l = l->next)
		if (((struct fill *)l->data)->priority <= priority &&
		    ((struct fill *)l->data)->content != FILL_DUMMIES)
			return true;
	return false;
}

/* ---- the end of a fill ---- */

/* Of directory_fill_names(). */
static void names_entered(struct object *object, void *arg)
{
	struct fill *fill = arg;
	int status = fill->outcome.status;

	g_mutex_lock(&object->lock);
	if (!status && !object->normal && !directory_of(object)->names &&
	    object->record.state == MIGRATE_UNFILLED) {
		object->record.flags |= MIGRATE_REC_NAMED;
		status = object_store(object);
	}
	directory_of(object)->fills = g_slist_remove(directory_of(object)->fills, fill);
	g_mutex_unlock(&object->lock);
	fill_leave(object);
	fill->done(fill->arg, status);
	fill_free(fill);
}

static void ignore_result(void *arg, int status)
{
}

static void start_fill(struct object *object, enum backend_priority priority,
		       enum fill_content content, struct skip_names *skip, object_done_fn done,
		       void *arg);

/* Nobody else fills the directory.  moved: it was found elsewhere on the old server meanwhile. */
static void abandon_fill(struct fill *fill, bool moved)
{
	struct object *object = fill->object;
	const struct fill_outcome *outcome = &fill->outcome;

	if (outcome->result == FILL_LOST && moved)
		start_fill(object, fill->priority, fill->content, fill->name_errors.skip,
			   ignore_result, NULL);
	else if (outcome->result == FILL_LOST)
		refind_start(object, directory_fill_again); /* the waiters wait for that */
	else if (outcome->status == -ECANCELED && !g_atomic_int_get(&object->retriever->closing))
		directory_fill_again(object); /* withdrawn: somebody may wait for it by now */
	else
		object_fail(object, outcome->status, outcome->why ? outcome->why : QM_NAMES_FAILED);
}

/* What failed for this fill fails no more if another one has filled the directory. */
static void forget_names(struct object *object)
{
	bool filled;

	g_mutex_lock(&object->lock);
	filled = object->normal || object->record.state != MIGRATE_UNFILLED;
	g_mutex_unlock(&object->lock);
	if (filled)
		errors_forget_names(object->retriever->errors, &object->key);
}

/* What its names are compared with. */
static bool knows_names(const struct fill *fill)
{
	return fill->outcome.result == FILL_COMPLETE &&
	       (!fill->object->retriever->copying || fill->sum);
}

/* Every name is here, but those that are skipped; or the fill has failed. */
static void conclude_fill(struct fill *fill)
{
	struct object *object = fill->object;
	bool others, moved = false, named = knows_names(fill);

	if (named) { /* before the lock is taken: there may be many */
		name_diff_sort(fill->names_listed, NULL);
		name_diff_sort(fill->name_errors.left_out, NULL);
	}
	g_mutex_lock(&object->lock);
	directory_of(object)->fills = g_slist_remove(directory_of(object)->fills, fill);
	if (fill->outcome.status == 0 && !object->normal &&
	    object->record.state == MIGRATE_UNFILLED &&
	    !directory_of(object)->names) { /* the first fill that has them all */
		if (named) {
			directory_of(object)->listed = g_steal_pointer(&fill->names_listed);
			directory_of(object)->left_out =
				g_steal_pointer(&fill->name_errors.left_out);
		}
		directory_of(object)->sum = g_steal_pointer(&fill->sum);
		directory_of(object)->free_sum = listing_sum_free;
		directory_of(object)->same = fill->same;
		data_hints_note(object, !fill->lacking);
		directory_set_complete(object, directory_fill_again);
	}
	others = has_running(object, BACKEND_BACKGROUND) || directory_of(object)->names ||
		 object->normal || object->record.state != MIGRATE_UNFILLED;
	if (fill->outcome.result == FILL_LOST)
		moved = object_source_moved(object, &fill->source);
	g_mutex_unlock(&object->lock);
	if (!others)
		abandon_fill(fill, moved);
	if (fill->outcome.status)
		forget_names(object);
	fill_free(fill);
}

static void set_outcome(struct fill *fill, enum fill_result result, int status, enum error_code why)
{
	fill->outcome = (struct fill_outcome){result, status, why};
}

/* Before the directory is called filled. */
static void record_skipped(void *arg)
{
	struct fill *fill = arg;
	struct object *object = fill->object;
	struct skip_names *skip = fill->name_errors.skip;
	enum error_code why = QM_UNREPORTED;
	int ret = skip ? skip_names_record(skip, object->retriever, fill->path)
		       : losses_sync(object->retriever->losses);

	if (!ret && skip && fill->prior_fd >= 0) {
		why = QM_SKIPPED_UNMOVED;
		ret = skip_names_put_aside(skip, object->retriever, object->fd, fill->prior_fd,
					   fill->path);
	}
	if (ret)
		set_outcome(fill, FILL_FAILED, ret, why);
	conclude_fill(fill);
}

/* Of a copy: whether only the sum of this listing was wanted, and it is another one now. */
static bool must_compare(struct fill *fill)
{
	bool summed, unchanged;

	if (fill->outcome.status || !fill->sum)
		return false;
	summed = listing_sum_sums_up(fill->sum);
	unchanged = listing_sum_unchanged(fill->sum, fill->object->fd);
	if (summed && !unchanged)
		return true;
	g_atomic_int_add(&fill->same, (gint)listing_sum_files(fill->sum));
	if (unchanged)
		g_clear_pointer(&fill->sum, listing_sum_free);
	return false;
}

static void finish_fill(struct fill *fill)
{
	struct object *object = fill->object;

	fill_enter_stage(fill, FILL_END);
	if (must_compare(fill)) {
		name_errors_reset(&fill->name_errors);
		fill->pending = 1;
		fill->lacking = 0; /* each is looked at now */
		if (fill->priority == BACKEND_BACKGROUND && fill->content != FILL_DUMMIES)
			fill->order = sorter_new(object->retriever);
		list_anew(fill);
		return;
	}
	if (!fill->outcome.status && name_errors_listed(&fill->name_errors) &&
	    !directory_names_fixed(object)) {
		fill->pending = 1;
		list_anew(fill);
		return;
	}
	if (!fill->outcome.status && fill->name_errors.status)
		set_outcome(fill, FILL_FAILED, fill->name_errors.status, QM_NONE);
	if (fill->content == FILL_DUMMIES) {
		if (fill_enter(object, names_entered, fill))
			names_entered(object, fill);
	} else if (!fill->outcome.status && !directory_names_fixed(object) &&
		   (skip_names_count(fill->name_errors.skip) ||
		    g_atomic_int_get(&fill->ruled_out))) {
		jobs_run(object->retriever->jobs, JOB_FLUSH, record_skipped, fill);
	} else {
		conclude_fill(fill);
	}
}

static void end_one(struct fill *fill)
{
	bool last;

	g_mutex_lock(&fill->lock);
	last = --fill->pending == 0;
	g_mutex_unlock(&fill->lock);
	if (last)
		finish_fill(fill);
}

static void end_listing(struct fill *fill)
{
	fill_enter_stage(fill, FILL_LISTED);
	end_one(fill);
}

/* ---- pages ---- */

static void page_made(struct fill *fill)
{
	bool go_on;

	g_mutex_lock(&fill->lock);
	fill->pages--;
	go_on = fill->paused;
	fill->paused = false;
	g_mutex_unlock(&fill->lock);
	if (go_on && fill->stage == FILL_MAKE)
		make_kept(fill);
	else if (go_on)
		list_next(fill);
	end_one(fill);
}

/* ---- in order ---- */

static bool keeps_something(const struct fill *fill)
{
	return fill->order && (fill->rest || sorter_count(fill->order));
}

static void forget_kept(struct fill *fill)
{
	if (fill->order)
		sorter_forget(fill->order);
	g_clear_pointer(&fill->rest, backend_batch_free);
}

static void start_making(struct fill *fill)
{
	fill_enter_stage(fill, FILL_MAKE);
	fill->names = (struct listing_progress){0};
	jobs_run(fill->object->retriever->jobs, JOB_BACKGROUND, make_kept, fill);
}

/* Nothing is kept any more. */
static void all_made(struct fill *fill, int status)
{
	if (!status && fill->listed < 0)
		status = fill->listed;
	if (status)
		listing_failed(fill, status);
	else if (fill->listed)
		end_listing(fill);
	else
		list_next(fill);
}

/* What keeps the rest from being made, or 0. */
static int why_stopped(const struct fill *fill)
{
	if (g_atomic_int_get(&fill->object->retriever->closing))
		return -ECANCELED;
	if (damage_found(fill->object->retriever))
		return -EIO;
	if (flags_word(fill->object->fd, ""))
		return -EPERM; /* object_fail() says why */
	return g_atomic_int_get(&fill->full) > DIRECTORY_FULL_MAX ? -ENOSPC : 0;
}

static struct backend_batch *next_kept(struct fill *fill, int *status)
{
	*status = why_stopped(fill);
	if (*status)
		forget_kept(fill);
	if (fill->rest)
		return g_steal_pointer(&fill->rest);
	return *status ? NULL : directory_order_take(fill->order, status);
}

/* On a worker.  When it stops, the thread that has made a page goes on with it, as with a listing.
 */
static void make_kept(void *arg)
{
	struct fill *fill = arg;
	bool wait = false;

	while (!wait) {
		int status;
		struct backend_batch *batch = next_kept(fill, &status);

		if (!batch) {
			all_made(fill, status);
			return;
		}
		g_mutex_lock(&fill->lock);
		fill->pending++;
		wait = ++fill->pages > PAGES_AHEAD;
		fill->paused = wait;
		g_mutex_unlock(&fill->lock);
		fill_make_page(fill, batch);
	}
}

/* Whether there is a name that is kept already; found in a listing that goes round in circles. */
static bool comes_again(struct fill *fill, const struct backend_batch *batch)
{
	bool again = false;

	for (guint i = 0; i < batch->entries->len; i++)
		again |= listing_is_endless(
			&fill->names,
			g_str_hash(g_array_index(batch->entries, struct source_entry, i).name), 0);
	return again;
}

static void keep_page(struct fill *fill, struct backend_batch *batch)
{
	bool again = comes_again(fill, batch);
	guint kept = directory_order_keep(fill->order, batch);

	if (kept < batch->entries->len) {
		g_array_remove_range(batch->entries, 0, kept);
		fill->rest = batch;
	} else {
		backend_batch_free(batch);
	}
	if (fill->listed || fill->rest || again || sorter_full(fill->order))
		start_making(fill);
	else
		list_next(fill);
}

/* ---- the listing ---- */

/* Whether what was not listed is skipped.  One that is gone was looked for before. */
static bool leaves_rest(struct fill *fill, int status)
{
	struct object *object = fill->object;
	bool gone;

	g_mutex_lock(&object->lock);
	gone = object->search.lost == QM_GONE;
	g_mutex_unlock(&object->lock);
	if (status == -ESTALE && !gone)
		return false;
	return skip_names_takes_rest(fill->name_errors.skip, object->fd, status,
				     status == -ESTALE ? QM_GONE : fill_refusal(fill, status));
}

static void listing_failed(struct fill *fill, int status)
{
	if (status == -EBADMSG &&
	    fill->restarts < 5) { /* the directory changed under the listing */
		fill->restarts++;
		name_errors_reset(&fill->name_errors);
		list_anew(fill);
		return;
	}
	if (keeps_something(fill) && status != -ECANCELED && status != GATE_WITHDRAWN) {
		fill->listed = status; /* once that is made */
		start_making(fill);
		return;
	}
	/* a path that leads nowhere any more, or to something else */
	if (status == -ENOENT || status == -ENOTDIR)
		status = -ESTALE;
	if (status == GATE_WITHDRAWN && fill->req.attempts)
		object_note_later(fill->object);
	if (status == GATE_WITHDRAWN)
		status = -ECANCELED;
	if (leaves_rest(fill, status))
		fill->outcome.result = FILL_PARTLY;
	else
		set_outcome(fill, status == -ESTALE ? FILL_LOST : FILL_FAILED, status,
			    fill_refusal(fill, status));
	end_listing(fill);
}

static void note_names(struct fill *fill, const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *entry =
			&g_array_index(batch->entries, struct source_entry, i);
		uint64_t hash = listing_sum_hash(entry->name);

		if (!directory_reserves(fill->path, entry->name))
			g_array_append_val(fill->names_listed, hash);
	}
}

/* A name that is left out counts as listed, so that what is here of it from before the rule
 * stays. */
static void leave_out_names(struct fill *fill, struct backend_batch *batch)
{
	guint n = 0;

	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *entry =
			&g_array_index(batch->entries, struct source_entry, i);

		if (!fill_leaves_out(fill, entry))
			g_array_index(batch->entries, struct source_entry, n++) = *entry;
	}
	g_array_set_size(batch->entries, n);
}

static void page_listed(struct backend_request *req)
{
	struct fill *fill = req->user;
	struct backend_batch *batch;
	bool eof = req->eof, wait;

	if (!req->status && req->has_attr && !fill->source.handle_len &&
	    req->attr.fileid != fill->fileid) {
		g_clear_pointer(&req->batch, backend_batch_free);
		req->status = -ESTALE; /* its path leads to another one now */
	}
	if (req->status) {
		listing_failed(fill, req->status);
		return;
	}
	name_errors_add_refused(&fill->name_errors, req->batch);
	note_names(fill, req->batch);
	leave_out_names(fill, req->batch);
	batch = g_steal_pointer(&req->batch);
	fill->listed = eof;
	if (fill->sum && fill->content != FILL_DUMMIES)
		listing_sum_pass(fill->sum, fill->object->fd, batch, eof);
	if (fill->order && !(eof && !keeps_something(fill))) {
		keep_page(fill, batch);
		return;
	}
	if (fill->order)
		directory_order_batch(batch);
	g_mutex_lock(&fill->lock);
	fill->pending++;
	fill->pages++;
	wait = !eof && fill->pages > PAGES_AHEAD;
	fill->paused = wait;
	g_mutex_unlock(&fill->lock);
	/* where the listing waits, the thread that has made a page goes on with it: from the unlock
	 * on req is that thread's, and so is the fill when this page is handed over */
	fill_make_page(fill, batch);
	if (eof)
		end_listing(fill);
	else if (!wait)
		list_next(fill);
}

/* -1: it cannot be read. */
static gint count_entries(int dir_fd)
{
	DIR *dir = retriever_list(dir_fd, ".");
	gint n = dir ? 0 : -1;

	while (dir && n < G_MAXINT && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Whether more names were found here than there are: some were listed twice. */
static bool repeats_itself(struct fill *fill)
{
	gint there = g_atomic_int_get(&fill->there), names;

	if (there <= fill->there_max)
		return false;
	fill->there_max = there > G_MAXINT / 2 ? G_MAXINT : 2 * there;
	names = count_entries(fill->object->fd);
	return names >= 0 && there - THERE_SPARE > names;
}

/* 0, or why the listing need not go on. */
static int no_use(struct fill *fill)
{
	int status = why_stopped(fill);

	if (status)
		return status;
	if (fill->req.cookie && listing_is_endless(&fill->progress, fill->req.cookie, 0))
		return -ELOOP;
	return repeats_itself(fill) ? -ELOOP : 0;
}

static void list_next(struct fill *fill)
{
	int status = no_use(fill);

	fill_enter_stage(fill, FILL_LIST);
	if (status) {
		listing_failed(fill, status);
		return;
	}
	fill->req.op = BACKEND_READDIR;
	fill->req.priority = fill->priority;
	fill->req.trace = fill_trace(fill);
	fill->req.names_only = fill->content == FILL_DUMMIES;
	fill->req.done = page_listed;
	fill->req.user = fill;
	gate_submit(fill->object->retriever->gate, &fill->req);
}

static void list_anew(struct fill *fill)
{
	fill->listed = 0;
	fill->req.cookie = fill->req.verf = 0;
	forget_kept(fill);
	fill->progress = fill->names = (struct listing_progress){0};
	g_atomic_int_set(&fill->there, 0);
	g_atomic_int_set(&fill->same, 0);
	fill->there_max = THERE_SPARE;
	g_array_set_size(fill->names_listed, 0);
	if (fill->sum)
		listing_sum_reset(fill->sum);
	list_next(fill);
}

/* ---- fills ---- */

static void fill_rights_told(void *arg, int status, enum error_code error)
{
	struct fill *fill = arg;

	fill->req.why = error;
	if (status) /* of a listing -EBADMSG would be that the directory changed */
		listing_failed(fill, status == -EBADMSG ? -EREMOTEIO : status);
	else
		list_next(fill);
}

/* Of a directory that is nobody's its rights are asked for first. */
static void begin_listing(struct fill *fill)
{
	bool closed;

	g_mutex_lock(&fill->object->lock);
	closed = object_is_closed(fill->object);
	g_mutex_unlock(&fill->object->lock);
	if (closed)
		rights_ask(fill->object, fill->priority == BACKEND_DEMAND, fill_rights_told, fill);
	else
		list_next(fill);
}

/* With the lock held. */
static struct fill *begin_fill(struct object *object, enum backend_priority priority,
			       enum fill_content content, int *ret)
{
	struct fill *fill = fill_new(object, priority, content, ret);

	fill->page_made = page_made;
	fill->there_max = THERE_SPARE;
	return fill;
}

void directory_fill_names(struct object *object, object_done_fn done, void *arg)
{
	struct fill *fill = NULL;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (!object->normal && object->record.state == MIGRATE_UNFILLED &&
	    !directory_of(object)->fills && !(object->record.flags & MIGRATE_REC_NAMED)) {
		fill = begin_fill(object, BACKEND_BACKGROUND, FILL_DUMMIES, &ret);
		fill->done = done;
		fill->arg = arg;
	}
	g_mutex_unlock(&object->lock);
	if (!fill)
		done(arg, 0);
	else if (ret)
		listing_failed(fill, ret);
	else
		list_next(fill);
}

static bool is_for_fill(const struct backend_request *req, const void *object)
{
	const struct fill *fill = req->done == page_listed ? req->user : fill_of_request(req);

	return fill && fill->object == object;
}

static void start_fill(struct object *object, enum backend_priority priority,
		       enum fill_content content, struct skip_names *skip, object_done_fn done,
		       void *arg)
{
	struct gate *gate = object->retriever->gate; /* who waits may be answered meanwhile */
	struct trace_id id = trace_current();
	struct fill *fill = NULL;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (object->normal || object->record.state != MIGRATE_UNFILLED) {
		g_mutex_unlock(&object->lock);
		done(arg, is_directory(object) ? 0 : -ENOTDIR);
		return;
	}
	if (skip || !has_running(object, priority)) {
		fill = begin_fill(object, priority, content, &ret);
		fill->not_here = g_steal_pointer(&directory_of(object)->not_here);
	}
	if (skip)
		fill->name_errors.skip = skip_names_ref(skip);
	if (fill && priority == BACKEND_BACKGROUND &&
	    !(fill->sum && listing_sum_sums_up(fill->sum)))
		fill->order = sorter_new(object->retriever);
	for (GSList *l = directory_of(object)->fills; l && id.first; l = l->next)
		g_atomic_int_set(&((struct fill *)l->data)->first, 1);
	waiters_add(object, 0, 0, priority == BACKEND_BACKGROUND, done, arg);
	g_mutex_unlock(&object->lock);
	if (!fill && id.first)
		gate_hurry(gate, is_for_fill, object);
	if (fill && ret)
		listing_failed(fill, ret);
	else if (fill)
		begin_listing(fill);
	else
		trace_event(TRACE_SHARED, &id, "directory", 0, 0, 0, 0);
}

void directory_fill(struct object *object, enum backend_priority priority, bool small_data,
		    object_done_fn done, void *arg)
{
	start_fill(object, priority, small_data ? FILL_OBJECTS_AND_DATA : FILL_OBJECTS, NULL, done,
		   arg);
}

void directory_fill_without(struct object *object, struct skip_names *skip, object_done_fn done,
			    void *arg)
{
	start_fill(object, BACKEND_DEMAND, FILL_OBJECTS, skip, done, arg);
}

void directory_fill_again(struct object *object)
{
	bool wanted;

	g_mutex_lock(&object->lock);
	wanted = !g_queue_is_empty(&object->waiters);
	g_mutex_unlock(&object->lock);
	if (wanted)
		directory_fill(object, BACKEND_DEMAND, false, ignore_result, NULL);
}

static bool is_of_fill(const struct backend_request *req, const void *object)
{
	return req->priority != BACKEND_BACKGROUND && is_for_fill(req, object);
}

bool directory_fill_cancel(struct object *object, void *arg)
{
	return waiters_cancel(object, arg, is_of_fill);
}
