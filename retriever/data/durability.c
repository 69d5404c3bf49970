/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/data/durability.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "lib/report/fill_notes.h"
#include "retriever/copies/copy_mark.h"
#include "retriever/data/rights.h"
#include "retriever/data/snapshot.h"
#include "retriever/objects/damage.h"
#include "retriever/objects/errors.h"
#include "retriever/objects/jobs.h"
#include "retriever/objects/waiters.h"
#include "retriever/progress/recount.h"

#define ROUND_US      G_USEC_PER_SEC
#define ROUND_OBJECTS 1000
#define ROUND_BYTES   ((uint64_t)256 << 20)
#define FEW	      4 /* so few objects are synced one by one */
#define WAITING_MAX   4096

struct after {
	object_done_fn done;
	void *arg;
};

struct durability {
	struct retriever *retriever;
	close_gaps_fn close_gaps;
	GThread *thread;
	GMutex lock;
	GCond cond;
	GPtrArray *queue; /* of struct object, referenced */
	GSList *afters;
	guint syncing; /* objects of the round that is under way */
	guint waiting_max;
	uint64_t bytes;
	gint64 since; /* when the first of the queue came */
	bool kick, stop, stopped;
	gint doubted; /* atomic: see durability_sync_all() */
};

static bool file_is_whole(struct object *object)
{
	return !is_directory(object) && !object_is_closed(object) &&
	       migrate_extents_empty(&object->record.missing);
}

/* Sets the file's mtime back.  A file whose bytes came with its name has it already. */
static int set_mtime(struct object *object)
{
	int64_t mtime = migrate_record_mtime(&object->record);
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, migrate_timespec(mtime)};
	struct stat st;

	if (fstat(object->fd, &st) < 0)
		return -errno;
	if (migrate_ns(st.st_mtim) == mtime)
		return 0;
	return futimens(object->fd, times) < 0 ? -errno : 0;
}

/* Lock held, no bracket open, nothing missing: the object becomes normal. */
static int drop_record(struct object *object)
{
	struct retriever *retriever = object->retriever;
	int ret = set_mtime(object);
	ino_t counted;

	if (!ret && migrate_record_closed(&object->record))
		ret = rights_keep(object);
	if (ret)
		return ret;
	counted = recount_begin(retriever, object->fd, "", RECOUNT_WHOLE);
	ret = migrate_record_drop(object->fd);
	if (!ret) {
		COUNT_ADD(retriever, files_whole, 1);
		COUNT_ADD(retriever, bytes_whole, object->record.size);
	}
	recount_end(retriever, counted, RECOUNT_WHOLE, !ret);
	if (ret)
		return ret;
	if (!(object->record.flags & (MIGRATE_REC_CLIENT | MIGRATE_REC_LOST)))
		fill_notes_add(retriever->private_fd, object->fd, object->record.fileid,
			       migrate_record_mtime(&object->record));
	/* an inode has no room for both; without the mark it is only fetched once more */
	if (retriever->copying)
		copy_mark_set_bound(object->fd, &object->key, object->record.fileid,
				    object->record.ctime);
	object->normal = true;
	object_count_bytes(object);
	errors_forget(retriever->errors, &object->key);
	return 0;
}

/* Lock held.  *again: a bracket is open or a fill writes, so the drop has to wait. */
static int store_or_drop(struct object *object, bool *again)
{
	*again = false;
	if (object->normal)
		return 0;
	if (!file_is_whole(object))
		return object_store(object);
	if (object->turns.brackets == 0 && object->turns.writing == 0)
		return drop_record(object);
	*again = true;
	return object_store(object);
}

/* The file's sync_lock held.  Its bytes in the page cache may be gone. */
static void write_back_failed(struct object *object, int err)
{
	struct file *file = file_of(object);

	g_mutex_lock(&object->lock);
	file->lost_writes++;
	migrate_extents_clear(&file->filled);
	migrate_extents_clear(&file->zeros);
	if (!object->normal && (object->record.flags & MIGRATE_REC_CLIENT)) {
		migrate_extents_clear(&object->record.dirty);
		object->record.flags |= MIGRATE_REC_LOST;
		file->unstored = object_store(object) < 0;
	}
	g_mutex_unlock(&object->lock);
	file->write_error = err;
}

/* A callback that is told of a failure may do anything: no lock is held then. */
static void sync_unlock(struct object *object)
{
	int err = file_of(object)->write_error;

	file_of(object)->write_error = 0;
	g_mutex_unlock(&file_of(object)->sync_lock);
	if (!err)
		return;
	object_fail(object, err, QM_WRITE_UNDURABLE);
	durability_queue(object, 0);
}

/* The file's sync_lock held.  -EIO for whatever reason: -ENOSPC is a record that does not fit. */
static int flush(struct object *object, int (*call)(int fd))
{
	if (call(object->fd) == 0)
		return 0;
	write_back_failed(object, -errno);
	return -EIO;
}

/* The file's sync_lock held: flushes, unless the whole file system was found durable and sound. */
static int sync_snapshot(struct snapshot *s, bool flushed)
{
	int ret = flushed ? 0 : flush(s->object, fdatasync);

	if (!ret) {
		ret = !flushed && damage_found(s->object->retriever) ? -EIO : snapshot_check(s);
		if (ret)
			write_back_failed(s->object, ret);
	}
	return ret;
}

/* The file's sync_lock held.  The record's flush is for clients who ask for durability. */
static int sync_file(struct object *object, bool for_client)
{
	struct snapshot s;
	bool again;
	int ret;

	ret = snapshot_take(&s, object);
	if (!ret)
		ret = sync_snapshot(&s, false);
	if (!ret) {
		g_mutex_lock(&object->lock);
		ret = snapshot_apply(&s);
		if (!ret)
			ret = store_or_drop(object, &again);
		g_mutex_unlock(&object->lock);
		if (!ret && for_client)
			ret = flush(object, fsync);
	}
	snapshot_clear(&s);
	return ret;
}

/* A client is told of what was lost before, once. */
static int take_lost(struct object *object)
{
	bool lost;

	g_mutex_lock(&object->lock);
	lost = !object->normal && (object->record.flags & MIGRATE_REC_LOST);
	if (lost) {
		object->record.flags &= ~MIGRATE_REC_LOST;
		object_store(object);
	}
	g_mutex_unlock(&object->lock);
	return lost ? -EIO : 0;
}

static int sync_object(struct object *object, bool for_client)
{
	int ret, lost = 0;

	/* one that is normal too: that its record is gone must be durable as well */
	if (object->kind != OBJECT_FILE)
		return fsync(object->fd) < 0 ? -errno : 0;
	g_mutex_lock(&file_of(object)->sync_lock);
	if (for_client)
		lost = take_lost(object); /* before it may become normal */
	if (!object->normal)
		ret = sync_file(object, for_client);
	else
		ret = for_client ? flush(object, fsync) : 0;
	if (for_client && ret == -EIO)
		take_lost(object); /* told by this answer */
	sync_unlock(object);
	return lost ? lost : ret;
}

struct durability_later {
	struct object *object; /* referenced */
	object_done_fn done;
	void *arg;
	bool closed;	 /* gaps were closed already */
	bool room;	 /* is all that is wanted */
	bool for_client; /* who asks for durability */
};

static void later_finish(struct durability_later *later, int status)
{
	if (later->done)
		later->done(later->arg, status);
	object_unref(later->object);
	g_slice_free(struct durability_later, later);
}

static void run_later(void *arg);

static void gaps_closed(void *arg, int status)
{
	struct durability_later *later = arg;

	g_mutex_lock(&later->object->lock);
	file_of(later->object)->closing_gaps = false;
	g_mutex_unlock(&later->object->lock);
	if (status)
		later_finish(later, status);
	else
		jobs_run(later->object->retriever->jobs, JOB_FLUSH, run_later, later);
}

static void close_gaps(struct durability_later *later)
{
	g_mutex_lock(&later->object->lock);
	file_of(later->object)->closing_gaps = true;
	g_mutex_unlock(&later->object->lock);
	later->closed = true;
	later->object->retriever->durability->close_gaps(later->object, gaps_closed, later);
}

static bool has_extent_room(struct object *object)
{
	bool room;

	g_mutex_lock(&object->lock);
	room = object_has_room(object);
	g_mutex_unlock(&object->lock);
	return room;
}

static void run_later(void *arg)
{
	struct durability_later *later = arg;
	struct object *object = later->object;
	int ret = 0;

	if (!later->room || !has_extent_room(object))
		ret = sync_object(object, later->for_client);
	if (later->room && ret == 0 && !has_extent_room(object))
		ret = -ENOSPC;
	if (ret == -ENOSPC && !later->closed)
		close_gaps(later);
	else
		later_finish(later, ret);
}

static void start_later(struct object *object, bool room, bool for_client, object_done_fn done,
			void *arg)
{
	struct durability_later *later = g_slice_new0(struct durability_later);

	later->object = object_ref(object);
	later->room = room;
	later->for_client = for_client;
	later->done = done;
	later->arg = arg;
	jobs_run(object->retriever->jobs, JOB_FLUSH, run_later, later);
}

void durability_sync_later(struct object *object, object_done_fn done, void *arg)
{
	start_later(object, false, true, done, arg);
}

void durability_settle_later(struct object *object, object_done_fn done, void *arg)
{
	start_later(object, false, false, done, arg);
}

void durability_make_room(struct object *object, object_done_fn done, void *arg)
{
	start_later(object, true, false, done, arg);
}

void durability_queue(struct object *object, uint64_t bytes)
{
	struct durability *d = object->retriever->durability;
	bool something;

	g_mutex_lock(&object->lock);
	something =
		!object->normal &&
		(file_of(object)->unstored || !migrate_extents_empty(&file_of(object)->filled) ||
		 !migrate_extents_empty(&object->record.dirty) || file_is_whole(object));
	g_mutex_unlock(&object->lock);
	if (!something)
		return;
	g_mutex_lock(&d->lock);
	if (d->stopped) { /* what is not in a record is fetched again */
		g_mutex_unlock(&d->lock);
		return;
	}
	d->bytes += bytes;
	if (!file_of(object)->sync_queued) {
		file_of(object)->sync_queued = true;
		g_ptr_array_add(d->queue, object_ref(object));
		if (d->queue->len == 1) {
			d->since = g_get_monotonic_time();
			g_cond_signal(&d->cond);
		}
	}
	if (d->queue->len == ROUND_OBJECTS || d->bytes >= ROUND_BYTES)
		g_cond_signal(&d->cond);
	g_mutex_unlock(&d->lock);
}

bool durability_crowded(struct retriever *retriever, bool background)
{
	struct durability *d = retriever->durability;
	guint waiting;

	g_mutex_lock(&d->lock);
	waiting = d->stopped ? 0 : d->queue->len + d->syncing;
	g_mutex_unlock(&d->lock);
	return waiting >= (background ? d->waiting_max : 2 * d->waiting_max);
}

void durability_after_round(struct retriever *retriever, object_done_fn done, void *arg)
{
	struct durability *d = retriever->durability;
	struct after *after = g_new(struct after, 1);
	bool stopped;

	after->done = done;
	after->arg = arg;
	g_mutex_lock(&d->lock);
	stopped = d->stopped;
	if (!stopped) {
		d->afters = g_slist_prepend(d->afters, after);
		d->kick = true;
		g_cond_signal(&d->cond);
	}
	g_mutex_unlock(&d->lock);
	if (stopped) {
		g_free(after);
		done(arg, -ECANCELED);
	}
}

/* The snapshot is durable.  TRUE: the record is to be dropped, or stored, in a later round, or
 * there was no memory. */
static bool round_succeeded(struct snapshot *s)
{
	struct object *object = s->object;
	bool again, crowded, closing, unstored;
	int ret;

	g_mutex_lock(&object->lock);
	if (snapshot_apply(s)) {
		g_mutex_unlock(&object->lock);
		return true;
	}
	ret = store_or_drop(object, &again);
	crowded = ret == -ENOSPC && object_crowded(object);
	closing = file_of(object)->closing_gaps;
	unstored = file_of(object)->unstored;
	g_mutex_unlock(&object->lock);
	if (crowded && !closing) {
		struct durability_later *later = g_slice_new0(struct durability_later);

		later->object = object_ref(object);
		close_gaps(later);
	} else if (ret && !crowded && !unstored) {
		object_fail(object, ret, QM_RECORD_UNWRITTEN);
	}
	return again || unstored;
}

/*
 * The kernel reports a failed write-back once for the whole file system, and maybe to an earlier
 * round than the object's own.  The object's own descriptor reports the failure too: from the first
 * failure on each descriptor is synced.
 */
int durability_sync_all(struct retriever *retriever)
{
	if (syncfs(retriever->root_fd) == 0)
		return 0;
	g_atomic_int_set(&retriever->durability->doubted, 1);
	return -errno;
}

/* For one object of a round: whether its own bytes are durable now. */
static bool round_sync(struct snapshot *s, bool each, int failed)
{
	struct object *object = s->object;
	int ret = 0;

	if (!s->ranges.n)
		return true;
	g_mutex_lock(&file_of(object)->sync_lock);
	if (failed)
		write_back_failed(object, failed);
	else
		ret = sync_snapshot(s, !each);
	sync_unlock(object);
	return !failed && !ret;
}

static void sync_round(struct durability *d, GPtrArray *objects)
{
	g_autofree struct snapshot *v = g_new0(struct snapshot, objects->len);
	bool few = objects->len <= FEW;
	int failed = 0;

	for (guint i = 0; i < objects->len; i++)
		if (snapshot_take(&v[i], objects->pdata[i]))
			durability_queue(objects->pdata[i], 0);
	if (!few)
		failed = durability_sync_all(d->retriever);
	if (!few && !failed && damage_found(d->retriever))
		failed = -EIO;
	for (guint i = 0; i < objects->len; i++) {
		struct snapshot *s = &v[i];

		if (round_sync(s, few || g_atomic_int_get(&d->doubted), failed) &&
		    round_succeeded(s))
			durability_queue(s->object, 0);
		snapshot_clear(s);
		object_unref(objects->pdata[i]);
	}
}

static void run_afters(GSList *afters)
{
	for (GSList *l = afters; l; l = l->next) {
		struct after *after = l->data;

		after->done(after->arg, 0);
		g_free(after);
	}
	g_slist_free(afters);
}

static gpointer sync_thread(gpointer arg)
{
	struct durability *d = arg;

	g_mutex_lock(&d->lock);
	for (;;) {
		GPtrArray *objects;
		GSList *afters;

		while (!d->stop && !d->kick && d->queue->len < ROUND_OBJECTS &&
		       d->bytes < ROUND_BYTES) {
			if (d->queue->len == 0)
				g_cond_wait(&d->cond, &d->lock);
			else if (!g_cond_wait_until(&d->cond, &d->lock, d->since + ROUND_US))
				break;
		}
		if (d->stop && d->queue->len == 0 && !d->afters)
			break;
		objects = d->queue;
		d->queue = g_ptr_array_sized_new(ROUND_OBJECTS);
		d->syncing = objects->len;
		for (guint i = 0; i < objects->len; i++)
			file_of(objects->pdata[i])->sync_queued = false;
		afters = d->afters;
		d->afters = NULL;
		d->bytes = 0;
		d->kick = false;
		d->since = g_get_monotonic_time();
		g_mutex_unlock(&d->lock);
		thread_unhurried(!afters);
		if (objects->len)
			sync_round(d, objects);
		g_ptr_array_free(objects, TRUE);
		run_afters(afters);
		g_mutex_lock(&d->lock);
		d->syncing = 0;
	}
	d->stopped = true;
	g_mutex_unlock(&d->lock);
	return NULL;
}

/* A part of the descriptors that the process may have. */
static guint waiting_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return ROUND_OBJECTS;
	return MIN(limit.rlim_cur / 4, WAITING_MAX);
}

struct durability *durability_new(struct retriever *retriever, close_gaps_fn close_gaps)
{
	struct durability *d = g_new0(struct durability, 1);

	d->retriever = retriever;
	d->close_gaps = close_gaps;
	d->waiting_max = waiting_max();
	g_mutex_init(&d->lock);
	g_cond_init(&d->cond);
	d->queue = g_ptr_array_sized_new(ROUND_OBJECTS);
	d->thread = g_thread_new("sync", sync_thread, d);
	return d;
}

void durability_stop(struct durability *d)
{
	if (!d)
		return;
	g_mutex_lock(&d->lock);
	d->stop = true;
	g_cond_signal(&d->cond);
	g_mutex_unlock(&d->lock);
	g_thread_join(d->thread);
}

void durability_free(struct durability *d)
{
	if (!d)
		return;
	g_ptr_array_free(d->queue, TRUE);
	g_mutex_clear(&d->lock);
	g_cond_clear(&d->cond);
	g_free(d);
}
