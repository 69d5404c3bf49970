/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/names/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retriever/copies/listing_sum.h"
#include "retriever/data/fetch.h"
#include "retriever/making/data_hints.h"
#include "retriever/names/fill.h"
#include "retriever/names/sorter.h"
#include "retriever/objects/jobs.h"

#define FILES_MAX      128 /* of one directory in flight */
#define FILES_YIELDING 8   /* ... while a client waits for something */
#define FILE_FLAGS     (O_RDWR | O_NOATIME | O_NONBLOCK)

struct bulk {
	struct object *directory; /* referenced */
	object_done_fn done;
	void *arg;
	int64_t since;	      /* not 0: files that were changed before that do not matter */
	bool reads;	      /* ... and were not read since then either */
	bool tells;	      /* the status, if one of them failed */
	DIR *dir;	      /* who scans has these two */
	struct sorter *files; /* by fileid: the old server may be one of disks */
	GArray *not_whole;    /* listing_sum_not_whole() */
	GMutex lock;
	unsigned inflight;
	int status;    /* of the fill */
	bool scanning; /* a worker reads the directory */
	bool end;
};

struct bulk_file {
	struct bulk *bulk;
	struct object *object;
};

static void scan(void *arg);

static void bulk_finish(struct bulk *bulk, int status)
{
	if (bulk->dir)
		closedir(bulk->dir);
	sorter_free(bulk->files);
	g_clear_pointer(&bulk->not_whole, g_array_unref);
	bulk->done(bulk->arg, status);
	object_unref(bulk->directory);
	g_mutex_clear(&bulk->lock);
	g_slice_free(struct bulk, bulk);
}

static unsigned limit(struct bulk *bulk)
{
	return retriever_clients_wait(bulk->directory->retriever) ? FILES_YIELDING : FILES_MAX;
}

static void file_done(void *arg, int status)
{
	struct bulk_file *file = arg;
	struct bulk *bulk = file->bulk;
	bool finished, go_on;

	object_unref(file->object);
	g_slice_free(struct bulk_file, file);
	g_mutex_lock(&bulk->lock);
	bulk->inflight--;
	if (status && bulk->tells && !bulk->status)
		bulk->status = -EREMOTEIO;
	finished = bulk->end && bulk->inflight == 0;
	go_on = !bulk->end && !bulk->scanning && bulk->inflight <= limit(bulk) / 2;
	if (go_on)
		bulk->scanning = true;
	g_mutex_unlock(&bulk->lock);
	if (finished)
		bulk_finish(bulk, bulk->status);
	else if (go_on)
		jobs_run(bulk->directory->retriever->jobs, JOB_BACKGROUND, scan, bulk);
}

static void start_file(struct bulk *bulk, int fd)
{
	struct bulk_file *file;
	struct object *object;

	if (fd < 0 || object_get_taking(bulk->directory->retriever, fd, &object) < 0)
		return; /* it vanished, or is damaged and listed */
	if (object->normal) {
		object_unref(object);
		return;
	}
	file = g_slice_new(struct bulk_file);
	file->bulk = bulk;
	file->object = object;
	g_mutex_lock(&bulk->lock);
	bulk->inflight++;
	g_mutex_unlock(&bulk->lock);
	fetch_range(object, 0, INT64_MAX, true, file_done, file);
}

/* Takes fd.  Whether all bytes of the file are here, so that at most it has to become durable. */
static bool is_here(struct bulk *bulk, int fd)
{
	struct object *object;
	bool here;

	if (object_get_taking(bulk->directory->retriever, fd, &object) < 0)
		return false;
	g_mutex_lock(&object->lock);
	here = object->normal || object_has(object, 0, INT64_MAX);
	g_mutex_unlock(&object->lock);
	object_unref(object);
	return here;
}

static bool is_file(struct bulk *bulk, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_REG && listing_sum_may_lack(bulk->not_whole, e->d_name);
	return fstatat(dirfd(bulk->dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}

static bool is_too_old(const struct bulk *bulk, int fd, const struct migrate_record *rec)
{
	struct stat st;

	if (rec->mtime >= bulk->since)
		return false;
	/* A dummy's times are not yet those of the old server. */
	return !bulk->reads || rec->state != MIGRATE_PARTIAL || fstat(fd, &st) ||
	       st.st_atim.tv_sec < bulk->since / 1000000000;
}

/* Kept by its handle: until it is its turn it may be renamed.  FALSE: there is no room for more. */
static bool consider_file(struct bulk *bulk, const char *name)
{
	int fd = openat(dirfd(bulk->dir), name, FILE_FLAGS | O_NOFOLLOW | O_CLOEXEC);
	struct migrate_record rec;
	int ret = fd < 0 ? 0 : migrate_record_load(fd, &rec);
	bool room = true;

	if (ret < 0)
		start_file(bulk, fd); /* its record is damaged, which is to be listed */
	else if (ret == 0 && fd >= 0)
		close(fd);
	if (ret <= 0)
		return true;
	if (bulk->since && is_too_old(bulk, fd, &rec))
		close(fd);
	else if (!is_here(bulk, fd))
		room = sorter_add(bulk->files, rec.fileid, &rec.binding, sizeof(rec.binding));
	if (!room)
		start_file(bulk,
			   openat(dirfd(bulk->dir), name, FILE_FLAGS | O_NOFOLLOW | O_CLOEXEC));
	migrate_record_clear(&rec);
	return room;
}

/* Collects as many unfinished files as there is room for. */
static void collect_files(struct bulk *bulk)
{
	struct dirent *e;
	bool room = true;

	while (room && !sorter_full(bulk->files) &&
	       !g_atomic_int_get(&bulk->directory->retriever->closing) && (e = readdir(bulk->dir)))
		if (is_file(bulk, e))
			room = consider_file(bulk, e->d_name);
}

/* FALSE: there are no more. */
static bool start_next(struct bulk *bulk)
{
	struct retriever *retriever = bulk->directory->retriever;
	struct migrate_binding binding;
	const void *bytes;

	if (sorter_count(bulk->files) == 0) {
		sorter_forget(bulk->files);
		collect_files(bulk);
	}
	if (sorter_take(bulk->files, &bytes) <= 0)
		return false;
	memcpy(&binding, bytes, sizeof(binding));
	start_file(bulk, retriever_open_binding(retriever, &binding, FILE_FLAGS));
	return true;
}

/* On a worker: hands out files until enough are in flight. */
static void scan(void *arg)
{
	struct bulk *bulk = arg;
	bool finished;

	for (;;) {
		g_mutex_lock(&bulk->lock);
		if (bulk->inflight >= limit(bulk)) {
			bulk->scanning = false;
			g_mutex_unlock(&bulk->lock);
			return;
		}
		g_mutex_unlock(&bulk->lock);
		if (!start_next(bulk))
			break;
	}
	g_mutex_lock(&bulk->lock);
	bulk->end = true;
	bulk->scanning = false;
	finished = bulk->inflight == 0;
	g_mutex_unlock(&bulk->lock);
	if (finished)
		bulk_finish(bulk, bulk->status);
}

/* No file lacks data: each has come with it, or has not changed since all of a copy's were whole.
 */
static bool is_brought(struct bulk *bulk)
{
	struct object *directory = bulk->directory;

	if (data_hints_take(directory))
		return true;
	bulk->not_whole = listing_sum_not_whole(directory->retriever, directory->fd);
	return bulk->not_whole && !bulk->not_whole->len;
}

static void directory_filled(void *arg, int status)
{
	struct bulk *bulk = arg;

	/* One name that cannot be made does not keep the others waiting. */
	if (status == -ECANCELED || bulk->directory->normal || is_brought(bulk)) {
		bulk_finish(bulk, status);
		return;
	}
	bulk->status = status;
	bulk->dir = retriever_list(bulk->directory->fd, ".");
	if (!bulk->dir) {
		bulk_finish(bulk, -errno);
		return;
	}
	bulk->files = sorter_new(bulk->directory->retriever);
	bulk->scanning = true;
	jobs_run(bulk->directory->retriever->jobs, JOB_BACKGROUND, scan, bulk);
}

void bulk_start(struct object *directory, int64_t since, bool reads, object_done_fn done, void *arg)
{
	struct bulk *bulk = g_slice_new0(struct bulk);

	bulk->directory = object_ref(directory);
	bulk->since = since;
	bulk->reads = reads;
	bulk->tells = trace_current().first;
	bulk->done = done;
	bulk->arg = arg;
	g_mutex_init(&bulk->lock);
	directory_fill(directory, BACKEND_BACKGROUND, !since, directory_filled, bulk);
}
