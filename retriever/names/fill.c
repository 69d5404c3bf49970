/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listing the old directory, page by page, and deciding that every name is here (I12).
 *
 * A run is over when nothing is pending: its listing has come to the end, or failed, and every page
 * was given back by fill_page.c.  The listing is pending until its last page is, and a page
 * before anybody can make it.  So when a run is over each entry that was listed is here, or
 * run->failed_names says why not.  A directory that changes under its listing (-EBADMSG) is listed
 * anew, and one of whose names some were not found is listed once more (failed_names.h).
 *
 * The background lists first, all of a directory or as much of it as there is room for, and makes
 * it in the order of fileids then (fill_order.h): the old server may be one of disks.  Clients
 * have other runs, of pages as they come, and so is a listing that is only summed up.  A listing
 * that repeats its names shows only when they are made, so from a name that comes again on nothing
 * more is kept before that.
 *
 * A run that left nothing out makes the directory `complete`: nobody makes a name in it any more
 * (directory_names_fixed()).  The record says FILLED when nobody is writing there and no bracket is
 * open.  A crash before that leaves an unfilled directory, and the next fill finds its names there.
 */
#include "retriever/names/fill.h"

#include <errno.h>

#include "lib/base/flags.h"
#include "lib/source/gate.h"
#include "retriever/copies/listing_sum.h"
#include "retriever/copies/name_diff.h"
#include "retriever/copies/prior.h"
#include "retriever/data/refind.h"
#include "retriever/data/version.h"
#include "retriever/making/brought.h"
#include "retriever/names/fill_order.h"
#include "retriever/names/fill_page.h"
#include "retriever/names/fill_run.h"
#include "retriever/names/fill_state.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/turns.h"
#include "retriever/objects/waiters.h"

#define PAGES_AHEAD 2	  /* listed and not made yet */
#define THERE_SPARE 10000 /* names of pages of the listing before, that are still made */

static void list_next(struct run *run);
static void make_kept(void *arg);
static void list_anew(struct run *run);
static void listing_failed(struct run *run, int status);

/* With the lock held: whether a fill of at least this priority is on its way. */
static bool running(struct object *object, enum backend_priority priority)
{
	for (GSList *l = directory_of(object)->runs; l; l = l->next)
		if (((struct run *)l->data)->priority <= priority &&
		    !((struct run *)l->data)->names_only)
			return true;
	return false;
}

/* ---- the end of a run ---- */

/* Of directory_fill_names(). */
static void names_entered(struct object *object, void *arg)
{
	struct run *run = arg;

	g_mutex_lock(&object->lock);
	if (!run->status && !object->normal && !directory_of(object)->names &&
	    object->record.state == MIGRATE_UNFILLED) {
		object->record.flags |= MIGRATE_REC_NAMED;
		run->status = object_store(object);
	}
	directory_of(object)->runs = g_slist_remove(directory_of(object)->runs, run);
	g_mutex_unlock(&object->lock);
	fill_leave(object);
	run->done(run->arg, run->status);
	directory_run_free(run);
}

static void nothing(void *arg, int status)
{
}

static void fill(struct object *object, enum backend_priority priority, bool small_data,
		 struct given_up *given_up, object_done_fn done, void *arg);

/* Nobody else fills the directory.  moved: it was found elsewhere on the old server meanwhile. */
static void give_up(struct run *run, bool moved)
{
	struct object *object = run->object;

	if (run->stale && moved)
		fill(object, run->priority, run->small_data, run->failed_names.given_up, nothing,
		     NULL);
	else if (run->stale)
		refind_start(object, directory_fill_again); /* the waiters wait for that */
	else if (run->status == -ECANCELED && !g_atomic_int_get(&object->retriever->closing))
		directory_fill_again(object); /* withdrawn: somebody may wait for it by now */
	else
		object_fail(object, run->status,
			    run->refused ? run->refused
					 : "the directory could not be filled: see the names "
					   "listed below it");
}

/* What failed for this run fails no more if another one has filled the directory. */
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
static bool knows_names(const struct run *run)
{
	return !run->status && !run->unlisted && (!run->object->retriever->copying || run->seen);
}

/* Every name is here, but those that are given up; or the run has failed. */
static void conclude(struct run *run)
{
	struct object *object = run->object;
	bool others, moved = false, named = knows_names(run);

	if (named) { /* before the lock is taken: there may be many */
		name_diff_sort(run->names_listed, NULL);
		name_diff_sort(run->failed_names.left_out, NULL);
	}
	g_mutex_lock(&object->lock);
	directory_of(object)->runs = g_slist_remove(directory_of(object)->runs, run);
	if (run->status == 0 && !object->normal && object->record.state == MIGRATE_UNFILLED &&
	    !directory_of(object)->names) { /* the first run that has them all */
		if (named) {
			directory_of(object)->listed = g_steal_pointer(&run->names_listed);
			directory_of(object)->left_out =
				g_steal_pointer(&run->failed_names.left_out);
		}
		directory_of(object)->seen = g_steal_pointer(&run->seen);
		directory_of(object)->free_seen = listing_sum_free;
		directory_of(object)->same = run->same;
		brought_note(object, !run->lacking);
		directory_set_complete(object, directory_fill_again);
	}
	others = running(object, BACKEND_BACKGROUND) || directory_of(object)->names ||
		 object->normal || object->record.state != MIGRATE_UNFILLED;
	if (run->stale)
		moved = object_source_moved(object, &run->source);
	g_mutex_unlock(&object->lock);
	if (!others)
		give_up(run, moved);
	if (run->status)
		forget_names(object);
	directory_run_free(run);
}

/* Before the directory is called filled. */
static void record_skipped(void *arg)
{
	struct run *run = arg;
	struct object *object = run->object;
	struct given_up *given_up = run->failed_names.given_up;

	run->status = given_up_record(given_up, object->retriever, run->path);
	if (run->status)
		run->refused = "the names that are skipped could not be put into the report";
	else if (run->prior_fd >= 0)
		run->status = given_up_put_aside(given_up, object->retriever, object->fd,
						 run->prior_fd, run->path);
	if (run->status && !run->refused)
		run->refused = "what was copied of a name that is skipped could not be set aside";
	conclude(run);
}

/* Of a copy: whether only the sum of this listing was wanted, and it is another one now. */
static bool must_compare(struct run *run)
{
	bool summed, unchanged;

	if (run->status || !run->seen)
		return false;
	summed = listing_sum_sums_up(run->seen);
	unchanged = listing_sum_unchanged(run->seen, run->object->fd);
	if (summed && !unchanged)
		return true;
	g_atomic_int_add(&run->same, (gint)listing_sum_files(run->seen));
	if (unchanged)
		g_clear_pointer(&run->seen, listing_sum_free);
	return false;
}

static void finish(struct run *run)
{
	struct object *object = run->object;

	if (must_compare(run)) {
		failed_names_reset(&run->failed_names);
		run->pending = 1;
		run->lacking = 0; /* each is looked at now */
		if (run->priority == BACKEND_BACKGROUND && !run->names_only)
			run->order = sorted_new(object->retriever);
		list_anew(run);
		return;
	}
	if (!run->status && failed_names_listed(&run->failed_names) &&
	    !directory_names_fixed(object)) {
		run->pending = 1;
		list_anew(run);
		return;
	}
	if (!run->status)
		run->status = run->failed_names.status;
	if (run->names_only) {
		if (fill_enter(object, names_entered, run))
			names_entered(object, run);
	} else if (!run->status && given_up_count(run->failed_names.given_up) &&
		   !directory_names_fixed(object)) {
		jobs_run(object->retriever->jobs, JOB_FLUSH, record_skipped, run);
	} else {
		conclude(run);
	}
}

static void run_done_one(struct run *run)
{
	bool last;

	g_mutex_lock(&run->lock);
	last = --run->pending == 0;
	g_mutex_unlock(&run->lock);
	if (last)
		finish(run);
}

/* ---- pages ---- */

static void page_made(struct run *run)
{
	bool go_on;

	g_mutex_lock(&run->lock);
	run->pages--;
	go_on = run->listing_waits;
	run->listing_waits = false;
	g_mutex_unlock(&run->lock);
	if (go_on && run->order)
		make_kept(run);
	else if (go_on)
		list_next(run);
	run_done_one(run);
}

/* ---- in order ---- */

static bool keeps_something(const struct run *run)
{
	return run->order && (run->rest || sorted_count(run->order));
}

static void forget_kept(struct run *run)
{
	if (run->order)
		sorted_forget(run->order);
	g_clear_pointer(&run->rest, backend_batch_free);
}

static void start_making(struct run *run)
{
	run->names = (struct listing_progress){0};
	jobs_run(run->object->retriever->jobs, JOB_BACKGROUND, make_kept, run);
}

/* Nothing is kept any more. */
static void all_made(struct run *run, int status)
{
	if (!status)
		status = run->failed;
	if (status)
		listing_failed(run, status);
	else if (run->listed)
		run_done_one(run);
	else
		list_next(run);
}

/* What keeps the rest from being made, or 0. */
static int stopped(const struct run *run)
{
	if (g_atomic_int_get(&run->object->retriever->closing))
		return -ECANCELED;
	if (damage_found(run->object->retriever))
		return -EIO;
	if (flags_word(run->object->fd, ""))
		return -EPERM; /* object_fail() says why */
	return g_atomic_int_get(&run->full) > DIRECTORY_FULL_MAX ? -ENOSPC : 0;
}

static struct backend_batch *next_kept(struct run *run, int *status)
{
	*status = stopped(run);
	if (*status)
		forget_kept(run);
	if (run->rest)
		return g_steal_pointer(&run->rest);
	return *status ? NULL : directory_order_take(run->order, status);
}

/* On a worker; where it stops, whoever has made a page goes on, as a listing does. */
static void make_kept(void *arg)
{
	struct run *run = arg;
	bool wait = false;

	while (!wait) {
		int status;
		struct backend_batch *batch = next_kept(run, &status);

		if (!batch) {
			all_made(run, status);
			return;
		}
		g_mutex_lock(&run->lock);
		run->pending++;
		wait = ++run->pages > PAGES_AHEAD;
		run->listing_waits = wait;
		g_mutex_unlock(&run->lock);
		directory_page_make(run, batch);
	}
}

/* Whether there is a name that is kept already; found in a listing that goes round in circles. */
static bool comes_again(struct run *run, const struct backend_batch *batch)
{
	bool again = false;

	for (guint i = 0; i < batch->entries->len; i++)
		again |= listing_is_endless(
			&run->names,
			g_str_hash(g_array_index(batch->entries, struct source_entry, i).name), 0);
	return again;
}

static void keep_page(struct run *run, struct backend_batch *batch)
{
	bool again = comes_again(run, batch);
	guint kept = directory_order_keep(run->order, batch);

	if (kept < batch->entries->len) {
		g_array_remove_range(batch->entries, 0, kept);
		run->rest = batch;
	} else {
		backend_batch_free(batch);
	}
	if (run->listed || run->rest || again || sorted_full(run->order))
		start_making(run);
	else
		list_next(run);
}

/* ---- the listing ---- */

/* Whether what was not listed is given up.  One that is gone was looked for before. */
static bool leaves_rest(struct run *run, int status)
{
	struct object *object = run->object;
	bool gone;

	g_mutex_lock(&object->lock);
	gone = !g_strcmp0(object->search.lost, VERSION_GONE);
	g_mutex_unlock(&object->lock);
	if (status == -ESTALE && !gone)
		return false;
	return given_up_takes_rest(run->failed_names.given_up, object->fd, status,
				   status == -ESTALE ? VERSION_GONE
						     : directory_run_refusal(run, status));
}

static void listing_failed(struct run *run, int status)
{
	if (status == -EBADMSG && run->restarts < 5) { /* the directory changed under the listing */
		run->restarts++;
		failed_names_reset(&run->failed_names);
		list_anew(run);
		return;
	}
	if (keeps_something(run) && status != -ECANCELED && status != GATE_WITHDRAWN) {
		run->failed = status; /* once that is made */
		start_making(run);
		return;
	}
	/* a path that leads nowhere any more, or to something else */
	if (status == -ENOENT || status == -ENOTDIR)
		status = -ESTALE;
	if (status == GATE_WITHDRAWN && run->req.attempts)
		object_note_later(run->object);
	if (status == GATE_WITHDRAWN)
		status = -ECANCELED;
	if (!leaves_rest(run, status)) {
		g_mutex_lock(&run->lock);
		run->status = status;
		run->stale = status == -ESTALE;
		run->refused = directory_run_refusal(run, status);
		g_mutex_unlock(&run->lock);
	} else {
		run->unlisted = true;
	}
	run_done_one(run);
}

static void note_names(struct run *run, const struct backend_batch *batch)
{
	for (guint i = 0; i < batch->entries->len; i++) {
		const struct source_entry *entry =
			&g_array_index(batch->entries, struct source_entry, i);
		uint64_t hash = listing_sum_hash(entry->name);

		if (!directory_reserves(run->path, entry->name) &&
		    !(entry->has_attr &&
		      directory_is_snapshot(run->object->retriever->config, entry)))
			g_array_append_val(run->names_listed, hash);
	}
}

static void page_listed(struct backend_request *req)
{
	struct run *run = req->user;
	struct backend_batch *batch;
	bool eof = req->eof, wait;

	if (!req->status && req->has_attr && !run->source.handle_len &&
	    req->attr.fileid != run->fileid) {
		g_clear_pointer(&req->batch, backend_batch_free);
		req->status = -ESTALE; /* its path leads to another one now */
	}
	if (req->status) {
		listing_failed(run, req->status);
		return;
	}
	failed_names_add_refused(&run->failed_names, req->batch);
	note_names(run, req->batch);
	batch = g_steal_pointer(&req->batch);
	run->listed = eof;
	if (run->seen && !run->names_only)
		listing_sum_pass(run->seen, run->object->fd, batch, eof);
	if (run->order && !(eof && !keeps_something(run))) {
		keep_page(run, batch);
		return;
	}
	if (run->order)
		directory_order_batch(batch);
	g_mutex_lock(&run->lock);
	run->pending++;
	run->pages++;
	wait = !eof && run->pages > PAGES_AHEAD;
	run->listing_waits = wait;
	g_mutex_unlock(&run->lock);
	/* where the listing waits, whoever made a page goes on with it: from the unlock on req is
	 * theirs, and run when this page is handed over */
	directory_page_make(run, batch);
	if (eof)
		run_done_one(run);
	else if (!wait)
		list_next(run);
}

/* -1: it cannot be read. */
static gint count_names_fill(int dir_fd)
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
static bool repeats_itself(struct run *run)
{
	gint there = g_atomic_int_get(&run->there), names;

	if (there <= run->there_max)
		return false;
	run->there_max = there > G_MAXINT / 2 ? G_MAXINT : 2 * there;
	names = count_names_fill(run->object->fd);
	return names >= 0 && there - THERE_SPARE > names;
}

/* 0, or why the listing need not go on. */
static int no_use(struct run *run)
{
	int status = stopped(run);

	if (status)
		return status;
	if (run->req.cookie && listing_is_endless(&run->progress, run->req.cookie, 0))
		return -ELOOP;
	return repeats_itself(run) ? -ELOOP : 0;
}

static void list_next(struct run *run)
{
	int status = no_use(run);

	if (status) {
		listing_failed(run, status);
		return;
	}
	run->req.op = BACKEND_READDIR;
	run->req.priority = run->priority;
	run->req.trace = run->trace;
	run->req.names_only = run->names_only;
	run->req.done = page_listed;
	run->req.user = run;
	gate_submit(run->object->retriever->gate, &run->req);
}

static void list_anew(struct run *run)
{
	run->req.cookie = run->req.verf = 0;
	forget_kept(run);
	run->progress = run->names = (struct listing_progress){0};
	g_atomic_int_set(&run->there, 0);
	g_atomic_int_set(&run->same, 0);
	run->there_max = THERE_SPARE;
	g_array_set_size(run->names_listed, 0);
	if (run->seen)
		listing_sum_reset(run->seen);
	list_next(run);
}

/* ---- runs ---- */

/* With the lock held. */
static struct run *begin_fill(struct object *object, enum backend_priority priority,
			      bool small_data, int *ret)
{
	struct run *run = directory_run_new(object, priority, small_data, ret);

	run->page_made = page_made;
	run->there_max = THERE_SPARE;
	return run;
}

void directory_fill_names(struct object *object, object_done_fn done, void *arg)
{
	struct run *run = NULL;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (!object->normal && object->record.state == MIGRATE_UNFILLED &&
	    !directory_of(object)->runs && !(object->record.flags & MIGRATE_REC_NAMED)) {
		run = begin_fill(object, BACKEND_BACKGROUND, false, &ret);
		run->names_only = true;
		run->done = done;
		run->arg = arg;
	}
	g_mutex_unlock(&object->lock);
	if (!run)
		done(arg, 0);
	else if (ret)
		listing_failed(run, ret);
	else
		list_next(run);
}

static void fill(struct object *object, enum backend_priority priority, bool small_data,
		 struct given_up *given_up, object_done_fn done, void *arg)
{
	struct trace_id id = trace_current();
	struct run *run = NULL;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (object->normal || object->record.state != MIGRATE_UNFILLED) {
		g_mutex_unlock(&object->lock);
		done(arg, is_directory(object) ? 0 : -ENOTDIR);
		return;
	}
	if (given_up || !running(object, priority)) {
		run = begin_fill(object, priority, small_data, &ret);
		run->not_here = g_steal_pointer(&directory_of(object)->not_here);
	}
	if (given_up)
		run->failed_names.given_up = given_up_ref(given_up);
	if (run && priority == BACKEND_BACKGROUND && !(run->seen && listing_sum_sums_up(run->seen)))
		run->order = sorted_new(object->retriever);
	waiters_add(object, 0, 0, priority == BACKEND_BACKGROUND, done, arg);
	g_mutex_unlock(&object->lock);
	if (run && ret)
		listing_failed(run, ret);
	else if (run)
		list_next(run);
	else
		trace_event(TRACE_SHARED, &id, "directory", 0, 0, 0, 0);
}

void directory_fill(struct object *object, enum backend_priority priority, bool small_data,
		    object_done_fn done, void *arg)
{
	fill(object, priority, small_data, NULL, done, arg);
}

void directory_fill_without(struct object *object, struct given_up *given_up, object_done_fn done,
			    void *arg)
{
	fill(object, BACKEND_DEMAND, false, given_up, done, arg);
}

void directory_fill_again(struct object *object)
{
	bool wanted;

	g_mutex_lock(&object->lock);
	wanted = !g_queue_is_empty(&object->waiters);
	g_mutex_unlock(&object->lock);
	if (wanted)
		directory_fill(object, BACKEND_DEMAND, false, nothing, NULL);
}

static bool is_of_fill(const struct backend_request *req, const void *object)
{
	const struct run *run = req->done == page_listed ? req->user : directory_page_run(req);

	return run && run->object == object && run->priority != BACKEND_BACKGROUND;
}

bool directory_fill_cancel(struct object *object, void *arg)
{
	return waiters_cancel(object, arg, is_of_fill);
}
