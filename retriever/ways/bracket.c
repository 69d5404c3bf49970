/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bracket.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "durability.h"
#include "place.h"
#include "volume/jobs.h"

struct bracket {
	struct object *object;
	enum migrate_change change;
	bool open;
	bool answered;
	bool nothing; /* the object is normal: there is nothing to keep right */
	bool placed;
	bool telling;	/* doors are told of a placing; main thread */
	bool cancelled; /* ... meanwhile; main thread */
	object_done_fn done;
	void *arg;
};

/* Waiting BEGINs are answered outside the lock, on a worker. */
struct granted {
	object_done_fn done;
	void *arg;
	int status;
};

static void run_granted(void *arg)
{
	struct granted *g = arg;

	g->done(g->arg, g->status);
	g_slice_free(struct granted, g);
}

struct deferred_run {
	struct object *object;
	struct deferred d;
};

static void run_deferred(void *arg)
{
	struct deferred_run *run = arg;

	run->d.fn(run->object, run->d.arg);
	g_slice_free(struct deferred_run, run);
}

/* Lock held.  Nothing is missing beyond the inode's size. */
static int clip(struct object *object, uint64_t size)
{
	struct migrate_record *rec = &object->record;

	if (object->is_dir || migrate_extents_empty(&rec->missing) ||
	    rec->missing.v[rec->missing.n - 1].end <= size)
		return 0;
	migrate_extents_clip(&rec->missing, size);
	migrate_extents_clip(&rec->dirty, size);
	migrate_extents_clip(&object->filled, size);
	return object_store(object);
}

/* Lock held.  A change that failed, or of which nothing is known, may have made the file shorter
 * all the same. */
static void clip_after(const struct bracket *bracket)
{
	struct object *object = bracket->object;
	struct stat st;

	if (!bracket->nothing && !object->normal && fstat(object->fd, &st) == 0)
		clip(object, st.st_size);
}

/*
 * Makes inode and record agree before a client's change: the inode's mtime is the one to show (so
 * that END can take the inode's), and nothing is missing beyond the size.
 */
static int settle(struct object *object)
{
	struct migrate_record *rec = &object->record;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct stat st;

	if (fstat(object->fd, &st) < 0)
		return -errno;
	if (migrate_ns(st.st_mtim) != migrate_record_mtime(rec)) {
		bool live = rec->state == MIGRATE_FILLED; /* its times are the inode's */

		times[1] = migrate_timespec(migrate_record_mtime(rec));
		if (!live && futimens(object->fd, times) < 0)
			return -errno;
	}
	return clip(object, st.st_size);
}

/* Lock held. */
static bool may_open(const struct object *object, enum migrate_change change)
{
	if (object->writing || object->exclusive)
		return false;
	return change != MIGRATE_TRUNCATE || object->brackets == 0;
}

/* Lock held. */
static int open_bracket(struct bracket *bracket)
{
	struct object *object = bracket->object;
	int ret = 0;

	if (object->normal)
		bracket->nothing = true;
	else if (object->brackets == 0)
		ret = settle(object);
	if (ret)
		return ret;
	bracket->open = true;
	object->brackets++;
	object->exclusive = bracket->change == MIGRATE_TRUNCATE;
	return 0;
}

/* Lock held: the fills that waited for brackets. */
static void start_deferred(struct object *object)
{
	struct deferred *d;

	while ((d = g_queue_pop_head(&object->deferred))) {
		struct deferred_run *run = g_slice_new(struct deferred_run);

		run->object = object;
		run->d = *d;
		g_slice_free(struct deferred, d);
		object->writing++;
		jobs_run(object->retriever->jobs, JOB_DEMAND, run_deferred, run);
	}
}

/* Lock held. */
static void open_waiting(struct object *object)
{
	struct bracket *bracket;

	while ((bracket = g_queue_peek_head(&object->begins)) &&
	       may_open(object, bracket->change)) {
		struct granted *g = g_slice_new(struct granted);

		g_queue_pop_head(&object->begins);
		g->status = open_bracket(bracket);
		bracket->answered = true;
		g->done = bracket->done;
		g->arg = bracket->arg;
		jobs_run(object->retriever->jobs, JOB_DEMAND, run_granted, g);
	}
}

void bracket_written(struct object *object)
{
	open_waiting(object);
	if (object->brackets == 0)
		start_deferred(object);
}

/* Lock held: it is the fills' turn, where some wait. */
static void closed(struct object *object)
{
	if (object->brackets == 0) {
		directory_complete(object);
		start_deferred(object);
	}
	if (object->deferred.length == 0)
		open_waiting(object);
}

static void bracket_free(struct bracket *bracket)
{
	object_unref(bracket->object);
	g_slice_free(struct bracket, bracket);
}

/* Not open any more, or never: gives back what it holds. */
static void bracket_done_with(struct bracket *bracket)
{
	if (bracket->placed)
		place_end(bracket->object->retriever);
	bracket_free(bracket);
}

/* Opens it, or lets it wait for its turn.  0 or -errno. */
static int open_or_queue(struct bracket *bracket)
{
	struct object *object = bracket->object;
	bool answer = true;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (!object->begins.length && !object->deferred.length &&
	    may_open(object, bracket->change)) {
		ret = open_bracket(bracket);
	} else {
		g_queue_push_tail(&object->begins, bracket);
		answer = false;
	}
	bracket->answered = answer;
	g_mutex_unlock(&object->lock);
	if (answer)
		bracket->done(bracket->arg, ret);
	return ret;
}

/* Every door knows of the placing. */
static void doors_told(void *arg)
{
	struct bracket *bracket = arg;

	bracket->telling = false;
	if (bracket->cancelled)
		bracket_done_with(bracket);
	else
		open_or_queue(bracket); /* an error is found by bracket_failed() */
}

struct bracket *bracket_begin(struct object *object, enum migrate_change change, int dir_fd,
			      object_done_fn done, void *arg)
{
	struct bracket *bracket = g_slice_new0(struct bracket);
	int ret = 0;

	bracket->object = object_ref(object);
	bracket->change = change;
	bracket->done = done;
	bracket->arg = arg;
	if (change == MIGRATE_PLACE && !object->normal) {
		bracket->telling = true;
		ret = place_begin(object, dir_fd, doors_told, bracket);
		bracket->placed = ret >= 0;
		if (ret > 0)
			return bracket;
		bracket->telling = false;
	}
	if (ret < 0)
		done(arg, ret);
	else
		ret = open_or_queue(bracket);
	if (ret == 0)
		return bracket;
	bracket_done_with(bracket);
	return NULL;
}

/* Lock held: what the client changed, as the record says it. */
static int note_change(struct bracket *bracket, uint64_t offset, uint64_t length)
{
	struct object *object = bracket->object;
	struct migrate_record *rec = &object->record;
	struct migrate_extents touched = MIGRATE_EXTENTS_INIT;
	uint64_t end = length > INT64_MAX - offset ? INT64_MAX : offset + length;
	struct stat st;
	int ret = 0;

	if (fstat(object->fd, &st) < 0)
		return -errno;
	switch (bracket->change) {
	case MIGRATE_WRITE:
	case MIGRATE_PUNCH:
		ret = migrate_extents_intersect(&rec->missing, offset, end, &touched);
		if (!ret)
			ret = migrate_extents_add_all(&rec->dirty, &touched);
		break;
	case MIGRATE_TRUNCATE:
		migrate_extents_clip(&rec->missing, offset);
		migrate_extents_clip(&rec->dirty, offset);
		migrate_extents_clip(&object->filled, offset);
		break;
	default:
		break;
	}
	migrate_extents_clear(&touched);
	if (ret)
		return ret;
	if (rec->state != MIGRATE_FILLED) { /* there it is the inode's */
		rec->shown_mtime = migrate_ns(st.st_mtim);
		rec->flags |= MIGRATE_REC_SHOWN_MTIME;
	}
	rec->shown_ctime = migrate_ns(st.st_ctim);
	rec->flags |= MIGRATE_REC_SHOWN_CTIME;
	/* from now on what was fetched cannot be told from what a client wrote */
	if (bracket->change != MIGRATE_PLACE &&
	    (bracket->change != MIGRATE_ATTRIBUTES || length || (uint64_t)st.st_size != rec->size))
		rec->flags |= MIGRATE_REC_CLIENT;
	return object_store(object);
}

/* Lock held. */
static void close_bracket(struct bracket *bracket)
{
	struct object *object = bracket->object;

	object->brackets--;
	if (bracket->change == MIGRATE_TRUNCATE)
		object->exclusive = false;
	closed(object);
}

void bracket_end(struct bracket *bracket, bool changed, bool durable, uint64_t offset,
		 uint64_t length, object_done_fn done, void *arg)
{
	struct object *object = bracket->object;
	GQueue waiters = G_QUEUE_INIT;
	bool queue = false;
	int ret = 0;

	g_mutex_lock(&object->lock);
	if (!bracket->open) { /* it was not begun */
		g_mutex_unlock(&object->lock);
		bracket_abort(bracket);
		done(arg, -EINVAL);
		return;
	}
	if (changed && !bracket->nothing && !object->normal) {
		ret = note_change(bracket, offset, length);
		/* what a client wrote need not be waited for any more */
		object_take_waiters(object, false, &waiters);
		queue = !object->is_dir;
	} else if (bracket->change == MIGRATE_TRUNCATE) {
		clip_after(bracket);
	}
	close_bracket(bracket);
	g_mutex_unlock(&object->lock);
	if (bracket->placed)
		place_end(object->retriever);
	object_run_waiters(object->retriever, &waiters, 0);
	if (queue)
		durability_queue(object, MIN(length, INT64_MAX));
	/* a record with too many ranges fits once some of them are durable */
	if (ret == -ENOSPC || (durable && ret == 0))
		durability_sync_later(object, done, arg);
	else
		done(arg, ret);
	bracket_free(bracket);
}

bool bracket_cancel(struct bracket *bracket)
{
	struct object *object = bracket->object;
	bool waiting;

	g_mutex_lock(&object->lock);
	waiting = !bracket->answered;
	if (waiting) {
		g_queue_remove(&object->begins, bracket);
		bracket_written(object); /* who came after it may be let in now */
	}
	g_mutex_unlock(&object->lock);
	if (waiting) {
		bracket->done(bracket->arg, -ECANCELED);
		if (bracket->telling)
			bracket->cancelled = true; /* doors_told() frees it */
		else
			bracket_done_with(bracket);
	}
	return waiting;
}

bool bracket_failed(struct bracket *bracket)
{
	bool failed;

	g_mutex_lock(&bracket->object->lock);
	failed = bracket->answered && !bracket->open;
	g_mutex_unlock(&bracket->object->lock);
	return failed;
}

void bracket_abort(struct bracket *bracket)
{
	struct object *object = bracket->object;

	if (bracket_cancel(bracket))
		return;
	g_mutex_lock(&object->lock);
	if (bracket->open) {
		clip_after(bracket);
		close_bracket(bracket);
	}
	g_mutex_unlock(&object->lock);
	bracket_done_with(bracket);
}
