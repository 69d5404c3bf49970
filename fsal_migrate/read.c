/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reads of unfinished files; see io.c. */
#include "park.h"

#include <stdlib.h>
#include <unistd.h>

#include "compat.h"
#include "gate.h"
#include "io.h"

#define MAX_FETCHES 64 /* for one file; more get DELAY */

/* A range that is being fetched for a file. */
struct mg_fetch {
	struct mg_volume *volume; /* counted */
	int fd;
	uint64_t offset, end;
	/* volume.lock */
	struct glist_head link;	  /* mg_object.fetches */
	struct mg_object *object; /* NULL: released */
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

/* volume.lock */
static void fetch_answer(struct mg_fetch *fetch, int status)
{
	struct glist_head *link, *next;

	if (fetch->object) {
		glist_del(&fetch->link);
		fetch->object->n_fetches--;
	}
	glist_for_each_safe(link, next, &fetch->parked)
		mg_io_ready(glist_entry(link, struct mg_io, wait), status);
}

static void fetch_done(void *arg, int status)
{
	struct mg_fetch *fetch = arg;

	pthread_mutex_lock(&fetch->volume->lock);
	fetch_answer(fetch, status);
	pthread_mutex_unlock(&fetch->volume->lock);
	fetch_free(fetch);
}

/* Takes over fd. */
static struct mg_fetch *fetch_new(struct mg_object *object, int fd, uint64_t offset, uint64_t end)
{
	struct mg_fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch) {
		close(fd);
		return NULL;
	}
	fetch->volume = mg_volume_ref(object->volume);
	fetch->object = object;
	fetch->fd = fd;
	fetch->offset = offset;
	fetch->end = end;
	glist_init(&fetch->parked);
	return fetch;
}

/* volume.lock */
static struct mg_fetch *fetch_find(struct mg_object *object, uint64_t offset, uint64_t end)
{
	struct glist_head *link;

	glist_for_each(link, &object->fetches)
	{
		struct mg_fetch *fetch = glist_entry(link, struct mg_fetch, link);

		if (fetch->offset <= offset && end <= fetch->end)
			return fetch;
	}
	return NULL;
}

/* volume.lock; the request fails at once where it cannot be made. */
static bool fetch_start(struct mg_object *object, struct mg_fetch *fetch)
{
	if (object->n_fetches >= MAX_FETCHES)
		return false;
	fetch->request = migrate_fetch_range(fetch->volume->client, fetch->fd, fetch->offset,
					     fetch->end - fetch->offset, 0, fetch_done, fetch);
	if (!fetch->request)
		return false;
	glist_add_tail(&object->fetches, &fetch->link);
	object->n_fetches++;
	return true;
}

/* false: it cannot be parked. */
static bool read_park(struct mg_object *object, struct mg_io *io, int fd)
{
	struct mg_volume *volume = object->volume;
	struct mg_fetch *fresh = fetch_new(object, fd, io->offset, io->offset + io->length), *fetch;

	if (!fresh)
		return false;
	pthread_mutex_lock(&volume->lock);
	fetch = fetch_find(object, io->offset, io->offset + io->length);
	if (!fetch && fetch_start(object, fresh)) {
		fetch = fresh;
		fresh = NULL;
	}
	if (fetch) {
		mg_io_park(io);
		glist_add_tail(&fetch->parked, &io->wait);
	}
	pthread_mutex_unlock(&volume->lock);
	if (fresh)
		fetch_free(fresh);
	return fetch;
}

void mg_io_release(struct mg_object *object)
{
	struct glist_head *link, *next;

	pthread_mutex_lock(&object->volume->lock);
	glist_for_each_safe(link, next, &object->fetches)
	{
		struct mg_fetch *fetch = glist_entry(link, struct mg_fetch, link);

		glist_del(&fetch->link);
		fetch->object = NULL;
		migrate_cancel(object->volume->client, fetch->request);
	}
	pthread_mutex_unlock(&object->volume->lock);
}

void mg_read2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *arg, void *caller_arg)
{
	struct mg_object *object = mg_object(handle);
	struct migrate_version found;
	struct mg_look look;
	struct mg_io *io;
	bool here;
	int result;

	if (mg_is_normal(object) || arg->info || compat_resumes(arg)) {
		mg_io_pass_down(handle, false, bypass, done_cb, arg, caller_arg, NULL);
		return;
	}
	result = mg_look(object, &look);
	if (result < 0) {
		done_cb(handle, mg_look_status(result), arg, caller_arg);
		return;
	}
	found = look.stub.version;
	here = result == 0 || migrate_stub_present(&look.stub, arg->offset, mg_io_length(arg));
	if (here) {
		mg_look_done(&look);
		mg_io_pass_down(handle, false, bypass, done_cb, arg, caller_arg,
				result == 0 ? NULL : &found);
		return;
	}
	io = mg_io_new(object, false, bypass, done_cb, arg, caller_arg);
	if (io)
		io->version = found;
	if (!io || !read_park(object, io, mg_look_steal_fd(&look))) {
		if (io)
			mg_io_drop(io);
		done_cb(handle, mg_delay(), arg, caller_arg);
	}
	mg_look_done(&look);
}
