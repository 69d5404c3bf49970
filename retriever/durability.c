/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "durability.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"

#define ROUND_US      G_USEC_PER_SEC
#define ROUND_OBJECTS 1000
#define ROUND_BYTES   ((uint64_t)256 << 20)
#define FEW	      4 /* so few objects are synced one by one */

struct after {
	object_done_fn done;
	void *arg;
};

struct durability {
	struct retriever *retriever;
	GThread *thread;
	GMutex lock;
	GCond cond;
	GPtrArray *queue; /* of struct object, referenced */
	GSList *afters;
	uint64_t bytes;
	gint64 since; /* when the first of the queue came */
	bool kick, stop;
};

/* With the object's lock held: what is in the page cache and counted as missing on disk. */
static int take_snapshot(struct object *object)
{
	int ret;

	migrate_extents_clear(&object->snapshot);
	ret = migrate_extents_copy(&object->snapshot, &object->filled);
	if (!ret)
		ret = migrate_extents_add_all(&object->snapshot, &object->record.dirty);
	if (ret)
		migrate_extents_clear(&object->snapshot);
	return ret;
}

/* Lock held; the snapshot is durable.  Shrinks the sets in memory. */
static void apply_snapshot(struct object *object)
{
	migrate_extents_remove_all(&object->record.missing, &object->snapshot);
	migrate_extents_remove_all(&object->record.dirty, &object->snapshot);
	migrate_extents_remove_all(&object->filled, &object->snapshot);
	migrate_extents_clear(&object->snapshot);
}

static bool file_is_whole(const struct object *object)
{
	return !object->is_dir && migrate_extents_empty(&object->record.missing);
}

/* Lock held, no bracket open, nothing missing: the object becomes normal. */
static int drop(struct object *object)
{
	struct retriever *retriever = object->retriever;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    migrate_timespec(migrate_record_mtime(&object->record))};
	int ret;

	if (futimens(object->fd, times) < 0)
		return -errno;
	ret = migrate_record_drop(object->fd);
	if (ret)
		return ret;
	object->normal = true;
	COUNT_ADD(retriever, files_whole, 1);
	COUNT_ADD(retriever, bytes_whole, object->record.size);
	if (object->record.error)
		errors_forget(retriever->errors, &object->key);
	return 0;
}

/* Lock held.  *again: a bracket is open or a fill writes, so the drop has to wait. */
static int settle(struct object *object, bool *again)
{
	*again = false;
	if (object->normal)
		return 0;
	if (!file_is_whole(object))
		return object_store(object);
	if (object->brackets == 0 && object->writing == 0)
		return drop(object);
	*again = true;
	return object_store(object);
}

int durability_compact(struct object *object)
{
	int ret = take_snapshot(object);

	if (ret)
		return ret;
	if (fdatasync(object->fd) < 0) {
		migrate_extents_clear(&object->snapshot);
		return -errno;
	}
	apply_snapshot(object);
	return migrate_record_store(object->fd, &object->record);
}

int durability_sync(struct object *object)
{
	struct migrate_extents snapshot = MIGRATE_EXTENTS_INIT;
	bool again;
	int ret;

	if (object->is_dir)
		return fsync(object->fd) < 0 ? -errno : 0;
	g_mutex_lock(&object->lock);
	if (object->normal) {
		g_mutex_unlock(&object->lock);
		return 0;
	}
	ret = migrate_extents_copy(&snapshot, &object->filled);
	if (!ret)
		ret = migrate_extents_add_all(&snapshot, &object->record.dirty);
	g_mutex_unlock(&object->lock);
	if (!ret && fdatasync(object->fd) < 0)
		ret = -errno;
	if (!ret) {
		g_mutex_lock(&object->lock);
		if (!object->normal) {
			migrate_extents_remove_all(&object->record.missing, &snapshot);
			migrate_extents_remove_all(&object->record.dirty, &snapshot);
			migrate_extents_remove_all(&object->filled, &snapshot);
			ret = settle(object, &again);
		}
		g_mutex_unlock(&object->lock);
	}
	migrate_extents_clear(&snapshot);
	if (!ret && fsync(object->fd) < 0)
		ret = -errno;
	return ret;
}

void durability_queue(struct object *object, uint64_t bytes)
{
	struct durability *d = object->retriever->durability;
	bool something;

	g_mutex_lock(&object->lock);
	something = !object->normal &&
		    (!migrate_extents_empty(&object->filled) ||
		     !migrate_extents_empty(&object->record.dirty) || file_is_whole(object));
	g_mutex_unlock(&object->lock);
	if (!something)
		return;
	g_mutex_lock(&d->lock);
	d->bytes += bytes;
	if (!object->sync_queued) {
		object->sync_queued = true;
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

void durability_after_round(struct retriever *retriever, object_done_fn done, void *arg)
{
	struct durability *d = retriever->durability;
	struct after *after = g_new(struct after, 1);

	after->done = done;
	after->arg = arg;
	g_mutex_lock(&d->lock);
	d->afters = g_slist_prepend(d->afters, after);
	d->kick = true;
	g_cond_signal(&d->cond);
	g_mutex_unlock(&d->lock);
}

/* The data could not be made durable: what was filled is fetched again, what a client wrote stays
 * dirty (its COMMIT tells it). */
static void round_failed(struct object *object, int err)
{
	g_mutex_lock(&object->lock);
	migrate_extents_clear(&object->snapshot);
	migrate_extents_clear(&object->filled);
	g_mutex_unlock(&object->lock);
	object_fail(object, -err, "the new server's file system could not make data durable");
}

static void sync_round(struct durability *d, GPtrArray *objects)
{
	bool each = objects->len <= FEW;
	int failed = 0;

	for (guint i = 0; i < objects->len; i++) {
		struct object *object = objects->pdata[i];

		g_mutex_lock(&object->lock);
		take_snapshot(object);
		g_mutex_unlock(&object->lock);
	}
	if (!each && syncfs(d->retriever->root_fd) < 0)
		failed = errno;
	for (guint i = 0; i < objects->len; i++) {
		struct object *object = objects->pdata[i];
		int err = failed, ret;
		bool again = false;

		if (each && !migrate_extents_empty(&object->snapshot) && fdatasync(object->fd) < 0)
			err = errno;
		if (err) {
			round_failed(object, err);
		} else {
			g_mutex_lock(&object->lock);
			apply_snapshot(object);
			ret = settle(object, &again);
			g_mutex_unlock(&object->lock);
			if (ret)
				object_fail(object, ret, "the stub record could not be written");
		}
		if (again)
			durability_queue(object, 0);
		object_unref(object);
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
		for (guint i = 0; i < objects->len; i++)
			((struct object *)objects->pdata[i])->sync_queued = false;
		afters = d->afters;
		d->afters = NULL;
		d->bytes = 0;
		d->kick = false;
		d->since = g_get_monotonic_time();
		g_mutex_unlock(&d->lock);
		if (objects->len)
			sync_round(d, objects);
		g_ptr_array_free(objects, TRUE);
		run_afters(afters);
		g_mutex_lock(&d->lock);
		if (d->stop && d->queue->len == 0)
			break;
	}
	g_mutex_unlock(&d->lock);
	return NULL;
}

struct durability *durability_new(struct retriever *retriever)
{
	struct durability *d = g_new0(struct durability, 1);

	d->retriever = retriever;
	g_mutex_init(&d->lock);
	g_cond_init(&d->cond);
	d->queue = g_ptr_array_sized_new(ROUND_OBJECTS);
	d->thread = g_thread_new("sync", sync_thread, d);
	return d;
}

void durability_free(struct durability *d)
{
	if (!d)
		return;
	g_mutex_lock(&d->lock);
	d->stop = true;
	g_cond_signal(&d->cond);
	g_mutex_unlock(&d->lock);
	g_thread_join(d->thread);
	g_ptr_array_free(d->queue, TRUE);
	g_mutex_clear(&d->lock);
	g_cond_clear(&d->cond);
	g_free(d);
}
