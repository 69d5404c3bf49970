/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads; those of unfinished files: see park.h. */
#include "fsal_migrate/read.h"

#include <stdlib.h>
#include <unistd.h>

#include "abstract_mem.h"
#include "fsal_migrate/compat.h"
#include "fsal_migrate/park.h"

#define MAX_FETCHES 64 /* for one file; more get DELAY */

/* A range that is being fetched for a file. */
struct mg_fetch {
	struct mg_volume *volume; /* counted */
	int fd;
	uint64_t offset, end;
	unsigned flags; /* of migrate_fetch_range() */
	/* volume.lock */
	struct glist_head link;	  /* mg_object.fetches */
	struct mg_object *object; /* NULL: released, or nobody waits */
	uint64_t request;
	struct glist_head parked; /* mg_io.wait */
};

static void fetch_free(struct mg_fetch *fetch)
{
	if (fetch->fd >= 0)
		close(fetch->fd);
	mg_volume_unref(fetch->volume);
	free(fetch);
}

/* With volume.lock: from now on no read finds the fetch. */
static void fetch_detach(struct mg_fetch *fetch)
{
	if (!fetch->object)
		return;
	glist_del(&fetch->link);
	fetch->object->n_fetches--;
	fetch->object = NULL;
}

static void fetch_done(void *arg, int status)
{
	struct mg_fetch *fetch = arg;
	struct glist_head *link, *next;

	pthread_mutex_lock(&fetch->volume->lock);
	fetch_detach(fetch);
	glist_for_each_safe(link, next, &fetch->parked)
		mg_io_ready(glist_entry(link, struct mg_io, wait), status);
	pthread_mutex_unlock(&fetch->volume->lock);
	fetch_free(fetch);
}

/* Takes over fd. */
static struct mg_fetch *fetch_new(struct mg_object *object, int fd, const struct mg_io *io,
				  unsigned flags)
{
	struct mg_fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch) {
		close(fd);
		return NULL;
	}
	fetch->volume = mg_volume_ref(object->volume);
	fetch->object = object;
	fetch->fd = fd;
	fetch->offset = io->offset;
	fetch->end = io->offset + io->length;
	fetch->flags = flags;
	glist_init(&fetch->parked);
	return fetch;
}

/* volume.lock */
static struct mg_fetch *fetch_find(struct mg_object *object, const struct mg_fetch *like)
{
	struct glist_head *link;

	glist_for_each(link, &object->fetches)
	{
		struct mg_fetch *fetch = glist_entry(link, struct mg_fetch, link);

		if (fetch->offset <= like->offset && like->end <= fetch->end &&
		    fetch->flags == like->flags)
			return fetch;
	}
	return NULL;
}

/* volume.lock; the request fails at once where it cannot be made. */
static bool fetch_start(struct mg_object *object, struct mg_fetch *fetch)
{
	if (object->n_fetches >= MAX_FETCHES)
		return false;
	fetch->request =
		migrate_fetch_range(fetch->volume->client, fetch->fd, fetch->offset,
				    fetch->end - fetch->offset, fetch->flags, fetch_done, fetch);
	if (!fetch->request)
		return false;
	LogFullDebug(COMPONENT_FSAL, "Volume %s: request %" PRIu64 ", range %" PRIu64 "+%" PRIu64,
		     fetch->volume->name, fetch->request, fetch->offset,
		     fetch->end - fetch->offset);
	glist_add_tail(&object->fetches, &fetch->link);
	object->n_fetches++;
	return true;
}

/* Takes over fd.  false: it cannot be parked. */
static bool read_park(struct mg_object *object, struct mg_io *io, int fd, unsigned flags)
{
	struct mg_volume *volume = object->volume;
	struct mg_fetch *fresh = fetch_new(object, fd, io, flags), *fetch;

	if (!fresh)
		return false;
	pthread_mutex_lock(&volume->lock);
	fetch = fetch_find(object, fresh);
	if (!fetch && fetch_start(object, fresh)) {
		fetch = fresh;
		fresh = NULL;
	}
	if (fetch) {
		mg_io_park(io);
		io->fetch = fetch;
		glist_add_tail(&fetch->parked, &io->wait);
	}
	pthread_mutex_unlock(&volume->lock);
	if (fresh)
		fetch_free(fresh);
	return fetch;
}

/* With volume.lock: no read waits for the fetch any more; fetch_done() frees it. */
static void fetch_cancel(struct mg_fetch *fetch)
{
	fetch_detach(fetch);
	migrate_cancel(fetch->volume->client, fetch->request);
}

void mg_read_release(struct mg_object *object)
{
	struct glist_head *link, *next;

	pthread_mutex_lock(&object->volume->lock);
	glist_for_each_safe(link, next, &object->fetches)
		fetch_cancel(glist_entry(link, struct mg_fetch, link));
	pthread_mutex_unlock(&object->volume->lock);
}

/* A read of a file that was unfinished when looked at, while the FSAL below reads. */
struct reading {
	bool bypass;
	fsal_async_cb done_cb;
	void *caller_arg;
	struct migrate_found found;
};

static void read_give_up(struct mg_io *io)
{
	struct mg_fetch *fetch = io->fetch;

	glist_del(&io->wait);
	if (glist_empty(&fetch->parked))
		fetch_cancel(fetch);
}

/* Called when all bytes that were here are durable, or when that failed. */
static bool sure_step(struct mg_io *io)
{
	struct fsal_obj_handle *handle = &io->object->handle;

	if (io->result == 0)
		mg_read2(handle, io->bypass, io->done_cb, io->arg, io->caller_arg);
	else
		io->done_cb(handle, mg_status(io->result), io->arg, io->caller_arg);
	return true;
}

/* The bytes that were read are doubtful: they are made durable, and read again. */
static void make_sure(struct mg_object *object, const struct reading *reading,
		      struct fsal_io_arg *arg)
{
	struct mg_io *io =
		mg_io_new(object, reading->bypass, reading->done_cb, arg, reading->caller_arg);
	int fd = io ? mg_object_open(object) : -1;

	if (io) {
		io->step = sure_step;
		io->give_up = read_give_up;
	}
	if (fd >= 0 && read_park(object, io, fd, MIGRATE_DURABLE))
		return;
	if (io)
		mg_io_drop(io);
	reading->done_cb(&object->handle, mg_delay(), arg, reading->caller_arg);
}

/* The FSAL below has read.  If the look before it does not hold any more, the read is made
 * again. */
static void read_below_done(struct fsal_obj_handle *handle, fsal_status_t status, void *arg,
			    void *caller)
{
	struct reading *reading = caller;
	int result = 1;

	if (!FSAL_IS_ERROR(status))
		result = mg_look_confirm(mg_object(handle), &reading->found, arg);
	if (result < 0)
		status = mg_look_status(result);
	if (result == MIGRATE_DOUBTFUL)
		make_sure(mg_object(handle), reading, arg);
	else if (result == 0)
		mg_read2(handle, reading->bypass, reading->done_cb, arg, reading->caller_arg);
	else
		reading->done_cb(handle, status, arg, reading->caller_arg);
	gsh_free(reading);
}

static void read_below(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
		       struct fsal_io_arg *arg, void *caller_arg, const struct migrate_found *found)
{
	struct reading *reading = gsh_malloc(sizeof(*reading));

	*reading = (struct reading){bypass, done_cb, caller_arg, *found};
	mg_pass_down(handle, false, bypass, read_below_done, arg, reading);
}

/* The range is here, or will not be in time. */
static bool read_step(struct mg_io *io)
{
	struct fsal_obj_handle *handle = &io->object->handle;

	if (io->result == 0)
		read_below(handle, io->bypass, io->done_cb, io->arg, io->caller_arg, &io->found);
	else
		io->done_cb(handle, mg_status(io->result), io->arg, io->caller_arg);
	return true;
}

void mg_read2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *arg, void *caller_arg)
{
	struct mg_object *object = mg_object(handle);
	struct migrate_found found;
	struct mg_look look;
	struct mg_io *io;
	int result;

	if (mg_is_whole(object) || arg->info || compat_resumes(arg)) {
		mg_pass_down(handle, false, bypass, done_cb, arg, caller_arg);
		return;
	}
	result = mg_look(object, &look);
	if (result < 0) {
		done_cb(handle, mg_look_status(result), arg, caller_arg);
		return;
	}
	found = migrate_stub_found(&look.stub, arg->offset, mg_io_length(arg));
	if (result == 0 || migrate_stub_present(&look.stub, arg->offset, mg_io_length(arg))) {
		mg_look_done(&look);
		if (result == 0)
			mg_pass_down(handle, false, bypass, done_cb, arg, caller_arg);
		else
			read_below(handle, bypass, done_cb, arg, caller_arg, &found);
		return;
	}
	io = mg_io_new(object, bypass, done_cb, arg, caller_arg);
	if (io) {
		io->step = read_step;
		io->give_up = read_give_up;
		io->found = found;
	}
	if (!io || !read_park(object, io, mg_look_steal_fd(&look), 0)) {
		if (io)
			mg_io_drop(io);
		done_cb(handle, mg_delay(), arg, caller_arg);
	}
	mg_look_done(&look);
}
