/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reads and writes of unfinished files.
 *
 * A read of a missing range and every write are parked: no thread waits for them.
 *
 *   read    WAITING for its fetch -> READY: read below, answer
 *   write   WAITING for begin -> READY: write below -> ENDING -> READY: answer, or begin again
 *
 * WAITING ends at the deadline with DELAY.  The fetch goes on, and the next read of its range joins
 * it; a begin is cancelled, and ended if it was too late for that.  ENDING has no deadline: bytes
 * are in the file that the record may not know of.
 *
 * READY is a job of the pool.  It runs in a context of its own, with the credentials of the
 * request, and with our export in place when it calls MDCACHE back.  The request holds the object
 * and its state until it is answered; after that nothing of it may be touched.
 */
#include "io.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "abstract_mem.h"
#include "compat.h"
#include "export_mgr.h"
#include "gate.h"
#include "pool.h"

#define MAX_FETCHES 64 /* for one file; more get DELAY */

enum step { WAITING, READY, ENDING };

struct mg_io {
	struct mg_job job;
	struct mg_timer timer;
	struct timespec deadline;
	/* the request */
	struct mg_volume *volume; /* counted */
	struct mg_export *export; /* pending */
	struct gsh_export *gsh;	  /* counted */
	struct mg_object *object;
	struct user_cred creds;
	bool bypass;
	fsal_async_cb done_cb;
	struct fsal_io_arg *arg;
	void *caller_arg;
	/* a write */
	bool write, stable;
	int fd;
	uint64_t offset, length;
	fsal_status_t status;
	/* a read */
	uint64_t limit; /* of what can be told from its look */
	/* volume.lock */
	unsigned refs;		/* who will answer, the timer, a reply that is to come */
	struct glist_head link; /* mg_export.ios */
	struct glist_head wait; /* mg_fetch.parked; a read that is WAITING */
	enum step step;
	bool ended; /* READY after ENDING */
	int result;
	uint64_t begun;
};

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

/* What the FSAL below hands back. */
struct relay {
	struct fsal_obj_handle *handle;
	fsal_async_cb done_cb;
	void *caller_arg;
	uint64_t limit;
};

/*
 * A read of an unfinished file that has grown since its record was looked at: what came from beyond
 * the size of then may be a missing range's hole (I4), where the old server's file is longer now.
 */
static bool is_doubtful(const struct relay *relay, fsal_status_t status,
			const struct fsal_io_arg *arg)
{
	return !FSAL_IS_ERROR(status) && arg->io_amount > 0 &&
	       arg->offset + arg->io_amount > relay->limit;
}

static void relay_done(struct fsal_obj_handle *sub, fsal_status_t status, void *arg, void *caller)
{
	struct fsal_export *below = op_ctx->fsal_export;
	struct relay *relay = caller;

	if (is_doubtful(relay, status, arg))
		status = mg_delay();
	op_ctx->fsal_export = below->super_export;
	relay->done_cb(relay->handle, status, arg, relay->caller_arg);
	op_ctx->fsal_export = below;
	gsh_free(relay);
}

#define NO_LIMIT UINT64_MAX

static void pass_down(struct fsal_obj_handle *handle, bool write, bool bypass,
		      fsal_async_cb done_cb, struct fsal_io_arg *arg, void *caller_arg,
		      uint64_t limit)
{
	struct fsal_obj_handle *sub = mg_object(handle)->sub;
	struct relay *relay = gsh_malloc(sizeof(*relay));
	struct mg_export *export = mg_enter();

	*relay = (struct relay){handle, done_cb, caller_arg, limit};
	if (write)
		sub->obj_ops->write2(sub, bypass, relay_done, arg, relay);
	else
		sub->obj_ops->read2(sub, bypass, relay_done, arg, relay);
	mg_leave(export);
}

/* ---- parked requests ------------------------------------------------------------------------- */

static void io_unref(struct mg_io *io)
{
	struct mg_volume *volume = io->volume;
	bool last;

	pthread_mutex_lock(&volume->lock);
	last = --io->refs == 0;
	pthread_mutex_unlock(&volume->lock);
	if (!last)
		return;
	if (io->fd >= 0)
		close(io->fd);
	mg_volume_unref(volume);
	free(io);
}

/* volume.lock */
static void io_ready(struct mg_io *io, int result)
{
	if (io->step == WAITING && !glist_null(&io->wait))
		glist_del(&io->wait);
	io->ended = io->step == ENDING;
	io->step = READY;
	io->result = result;
	mg_pool_submit(&io->job);
}

static void ignore_done(void *arg, int status)
{
}

/* volume.lock */
static void io_expire(struct mg_io *io)
{
	if (io->step != WAITING)
		return;
	io_ready(io, -EAGAIN);
	if (io->write)
		migrate_cancel(io->volume->client, io->begun);
}

static void io_timeout(struct mg_timer *timer)
{
	struct mg_io *io = container_of(timer, struct mg_io, timer);

	pthread_mutex_lock(&io->volume->lock);
	io_expire(io);
	pthread_mutex_unlock(&io->volume->lock);
	io_unref(io);
}

void mg_io_cancel(struct mg_export *export)
{
	struct glist_head *link, *next;

	pthread_mutex_lock(&export->volume->lock);
	glist_for_each_safe(link, next, &export->ios)
		io_expire(glist_entry(link, struct mg_io, link));
	pthread_mutex_unlock(&export->volume->lock);
}

/* The request is answered: nothing of it is touched any more. */
static void io_finish(struct mg_io *io)
{
	struct mg_export *export = io->export;

	pthread_mutex_lock(&io->volume->lock);
	glist_del(&io->link);
	pthread_mutex_unlock(&io->volume->lock);
	if (mg_timer_disarm(&io->timer))
		io_unref(io);
	put_gsh_export(io->gsh);
	io_unref(io);
	/* Last: an export that is being removed waits for this. */
	mg_pending_end(export);
}

static uint64_t arg_length(const struct fsal_io_arg *arg)
{
	uint64_t length = 0;

	for (int i = 0; i < arg->iov_count; i++)
		length += arg->iov[i].iov_len;
	return arg->offset + length < arg->offset ? UINT64_MAX - arg->offset : length;
}

static void io_job(struct mg_job *job);

/* NULL: out of memory, or the export is going away. */
static struct mg_io *io_new(struct mg_object *object, bool write, bool bypass,
			    fsal_async_cb done_cb, struct fsal_io_arg *arg, void *caller_arg)
{
	struct mg_export *export = mg_export(op_ctx->fsal_export);
	struct mg_io *io = calloc(1, sizeof(*io));

	if (!io || !mg_pending_begin(export)) {
		free(io);
		return NULL;
	}
	io->job.run = io_job;
	io->timer.fire = io_timeout;
	io->deadline = mg_deadline(object->volume);
	io->volume = mg_volume_ref(object->volume);
	io->export = export;
	io->gsh = op_ctx->ctx_export;
	get_gsh_export_ref(io->gsh);
	io->object = object;
	io->creds = op_ctx->creds;
	io->bypass = bypass;
	io->done_cb = done_cb;
	io->arg = arg;
	io->caller_arg = caller_arg;
	io->write = write;
	io->stable = write && arg->fsal_stable;
	io->fd = -1;
	io->offset = arg->offset;
	io->length = arg_length(arg);
	io->refs = 2; /* whoever answers, the timer */
	return io;
}

/* volume.lock */
static void io_park(struct mg_io *io)
{
	io->step = WAITING;
	glist_add_tail(&io->export->ios, &io->link);
	mg_timer_arm(&io->timer, io->deadline);
}

/* ---- reads ----------------------------------------------------------------------------------- */

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
		io_ready(glist_entry(link, struct mg_io, wait), status);
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
		io_park(io);
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

/* It was not parked after all. */
static void io_drop(struct mg_io *io)
{
	mg_volume_unref(io->volume);
	put_gsh_export(io->gsh);
	mg_pending_end(io->export);
	if (io->fd >= 0)
		close(io->fd);
	free(io);
}

static void read2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
		  struct fsal_io_arg *arg, void *caller_arg)
{
	struct mg_object *object = mg_object(handle);
	struct mg_look look;
	struct mg_io *io;
	bool here;
	int result;

	if (mg_is_normal(object) || arg->info || compat_resumes(arg)) {
		pass_down(handle, false, bypass, done_cb, arg, caller_arg, NO_LIMIT);
		return;
	}
	result = mg_look(object, &look);
	if (result < 0) {
		done_cb(handle, mg_look_status(result), arg, caller_arg);
		return;
	}
	here = result == 0 || migrate_stub_present(&look.stub, arg->offset, arg_length(arg));
	if (here) {
		mg_look_done(&look);
		pass_down(handle, false, bypass, done_cb, arg, caller_arg,
			  result == 0 ? NO_LIMIT : look.size);
		return;
	}
	io = io_new(object, false, bypass, done_cb, arg, caller_arg);
	if (io)
		io->limit = look.size;
	if (!io || !read_park(object, io, mg_look_steal_fd(&look))) {
		if (io)
			io_drop(io);
		done_cb(handle, mg_delay(), arg, caller_arg);
	}
	mg_look_done(&look);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static void begin_done(void *arg, int status)
{
	struct mg_io *io = arg;

	pthread_mutex_lock(&io->volume->lock);
	if (io->step == WAITING)
		io_ready(io, status);
	else if (status == 0) /* it was answered already */
		migrate_end(io->volume->client, io->begun, false, false, 0, 0, ignore_done, NULL);
	pthread_mutex_unlock(&io->volume->lock);
	io_unref(io);
}

/* volume.lock.  0 or -errno. */
static int begin_start(struct mg_io *io)
{
	io->begun = migrate_begin(io->volume->client, io->fd, -1, MIGRATE_WRITE, io->offset,
				  io->length, begin_done, io);
	if (!io->begun)
		return -ENOMEM;
	io->refs++;
	return 0;
}

static void end_done(void *arg, int status)
{
	struct mg_io *io = arg;

	pthread_mutex_lock(&io->volume->lock);
	io_ready(io, status);
	pthread_mutex_unlock(&io->volume->lock);
	io_unref(io);
}

/* The FSAL below has written, or not. */
static void written(struct fsal_obj_handle *sub, fsal_status_t status, void *arg, void *caller)
{
	struct mg_io *io = caller;
	bool changed = !FSAL_IS_ERROR(status) || io->arg->io_amount > 0;

	pthread_mutex_lock(&io->volume->lock);
	io->status = status;
	io->step = ENDING;
	if (migrate_end(io->volume->client, io->begun, changed,
			io->stable && !FSAL_IS_ERROR(status), io->offset, io->arg->io_amount,
			end_done, io))
		io->refs++;
	else
		io_ready(io, -ECONNRESET);
	pthread_mutex_unlock(&io->volume->lock);
}

static void write_below(struct mg_io *io)
{
	struct fsal_obj_handle *sub = io->object->sub;
	struct mg_export *export = mg_enter();

	io->arg->io_amount = 0;
	io->arg->fsal_stable = io->stable;
	sub->obj_ops->write2(sub, io->bypass, written, io->arg, io);
	mg_leave(export);
}

static void write2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
		   struct fsal_io_arg *arg, void *caller_arg)
{
	struct mg_object *object = mg_object(handle);
	struct mg_look look;
	struct mg_io *io;
	int result;

	if (mg_is_normal(object) || arg->info || compat_resumes(arg)) {
		pass_down(handle, true, bypass, done_cb, arg, caller_arg, NO_LIMIT);
		return;
	}
	result = mg_look(object, &look);
	if (result < 0) {
		done_cb(handle, mg_look_status(result), arg, caller_arg);
		return;
	}
	if (result == 0) {
		mg_look_done(&look);
		pass_down(handle, true, bypass, done_cb, arg, caller_arg, NO_LIMIT);
		return;
	}
	io = io_new(object, true, bypass, done_cb, arg, caller_arg);
	if (io) {
		io->fd = mg_look_steal_fd(&look);
		pthread_mutex_lock(&object->volume->lock);
		result = begin_start(io);
		if (result == 0)
			io_park(io);
		pthread_mutex_unlock(&object->volume->lock);
	}
	mg_look_done(&look);
	if (io && result == 0)
		return;
	if (io)
		io_drop(io);
	done_cb(handle, mg_delay(), arg, caller_arg);
}

/* ---- the pool's side --------------------------------------------------------------------------
 */

/* Whether the bracket was lost and there is time to make it again; it is under way then. */
static bool write_again(struct mg_io *io)
{
	bool again = false;

	if (io->result != -ECONNRESET)
		return false;
	/* Under the lock: the timer has not looked yet then, and will. */
	pthread_mutex_lock(&io->volume->lock);
	if (mg_before(mg_now(), io->deadline))
		again = begin_start(io) == 0;
	if (again)
		io->step = WAITING;
	pthread_mutex_unlock(&io->volume->lock);
	return again;
}

static fsal_status_t write_status(const struct mg_io *io)
{
	if (io->ended && FSAL_IS_ERROR(io->status))
		return io->status;
	return mg_status(io->result);
}

/* true: the request was answered. */
static bool io_step(struct mg_io *io)
{
	struct fsal_obj_handle *handle = &io->object->handle;

	if (!io->write && io->result == 0) {
		pass_down(handle, false, io->bypass, io->done_cb, io->arg, io->caller_arg,
			  io->limit);
		return true;
	}
	if (io->write && io->result == 0 && !io->ended) {
		write_below(io);
		return false;
	}
	if (io->write && write_again(io))
		return false;
	io->done_cb(handle, io->write ? write_status(io) : mg_status(io->result), io->arg,
		    io->caller_arg);
	return true;
}

static void io_job(struct mg_job *job)
{
	struct mg_io *io = container_of(job, struct mg_io, job);
	struct mg_export *export = io->export;
	struct gsh_export *gsh = io->gsh;
	struct req_op_context context;
	bool answered;

	/* Another thread may go on with the request before this one has put its reference to the
	 * export, which must not be the last: this thread cannot take the export down. */
	pthread_mutex_lock(&io->volume->lock);
	export->pending++;
	pthread_mutex_unlock(&io->volume->lock);
	get_gsh_export_ref(gsh); /* the context's */
	init_op_context_simple(&context, gsh, &export->fsal);
	context.creds = io->creds;
	answered = io_step(io);
	release_op_context();
	if (answered)
		io_finish(io);
	mg_pending_end(export);
}

void mg_io_ops_init(struct fsal_obj_ops *ops)
{
	ops->read2 = read2;
	ops->write2 = write2;
}
