/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/park.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "abstract_mem.h"
#include "export_mgr.h"

/* What the FSAL below hands back with its answer. */
struct relay {
	struct fsal_obj_handle *handle;
	fsal_async_cb done_cb;
	void *caller_arg;
	bool stable; /* a write that is to be durable */
};

fsal_status_t mg_stable_status(fsal_status_t status, const struct fsal_io_arg *arg)
{
	return FSAL_IS_ERROR(status) || arg->fsal_stable ? status : mg_status(-EIO);
}

static void relay_done(struct fsal_obj_handle *sub, fsal_status_t status, void *arg, void *caller)
{
	struct fsal_export *below = op_ctx->fsal_export;
	struct relay *relay = caller;

	if (relay->stable)
		status = mg_stable_status(status, arg);
	op_ctx->fsal_export = below->super_export;
	relay->done_cb(relay->handle, status, arg, relay->caller_arg);
	op_ctx->fsal_export = below;
	gsh_free(relay);
}

void mg_pass_down(struct fsal_obj_handle *handle, bool write, bool bypass, fsal_async_cb done_cb,
		  struct fsal_io_arg *arg, void *caller_arg)
{
	struct fsal_obj_handle *sub = mg_object(handle)->sub;
	struct relay *relay = gsh_malloc(sizeof(*relay));
	struct mg_export *export = mg_enter();

	*relay = (struct relay){handle, done_cb, caller_arg, write && arg->fsal_stable};
	if (write)
		sub->obj_ops->write2(sub, bypass, relay_done, arg, relay);
	else
		sub->obj_ops->read2(sub, bypass, relay_done, arg, relay);
	mg_leave(export);
}

/* ---- parked requests ------------------------------------------------------------------------- */

void mg_io_unref(struct mg_io *io)
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
void mg_io_ready(struct mg_io *io, int result)
{
	if (io->stage == WAITING && !glist_null(&io->wait))
		glist_del(&io->wait);
	io->stage = READY;
	io->result = result;
	mg_pool_submit(&io->job);
}

/* volume.lock */
static void io_expire(struct mg_io *io)
{
	if (io->stage == WAITING)
		io->give_up(io);
	if (io->stage != READY)
		mg_io_ready(io, -EAGAIN);
}

static void io_timeout(struct mg_timer *timer)
{
	struct mg_io *io = container_of(timer, struct mg_io, timer);

	pthread_mutex_lock(&io->volume->lock);
	if (migrate_passed(&timer->at)) /* else it was armed again meanwhile */
		io_expire(io);
	pthread_mutex_unlock(&io->volume->lock);
	mg_io_unref(io);
}

void mg_io_wait(struct mg_io *io, enum mg_stage stage, struct timespec until)
{
	io->stage = stage;
	if (!mg_timer_disarm(&io->timer))
		io->refs++;
	mg_timer_arm(&io->timer, until);
}

void mg_io_cancel(struct mg_export *export)
{
	struct glist_head *link, *next;

	glist_for_each_safe(link, next, &export->ios)
		io_expire(glist_entry(link, struct mg_io, link));
}

/* The request is answered: nothing of it is touched any more. */
static void io_finish(struct mg_io *io)
{
	struct mg_export *export = io->export;

	pthread_mutex_lock(&io->volume->lock);
	glist_del(&io->link);
	pthread_mutex_unlock(&io->volume->lock);
	if (mg_timer_disarm(&io->timer))
		mg_io_unref(io);
	put_gsh_export(io->gsh);
	mg_io_unref(io);
	/* Last: an export that is being removed waits for this. */
	mg_pending_end(export);
}

uint64_t mg_io_length(const struct fsal_io_arg *arg)
{
	uint64_t length = 0;

	for (int i = 0; i < arg->iov_count; i++)
		length += arg->iov[i].iov_len;
	return arg->offset + length < arg->offset ? UINT64_MAX - arg->offset : length;
}

static void io_job(struct mg_job *job);

/* NULL: out of memory, or the export is going away. */
struct mg_io *mg_io_new(struct mg_object *object, bool bypass, fsal_async_cb done_cb,
			struct fsal_io_arg *arg, void *caller_arg)
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
	io->fd = -1;
	io->offset = arg->offset;
	io->length = mg_io_length(arg);
	io->refs = 1; /* the thread that answers it */
	return io;
}

/* volume.lock */
void mg_io_park(struct mg_io *io)
{
	glist_add_tail(&io->export->ios, &io->link);
	mg_io_wait(io, WAITING, io->deadline);
}

/* It was not parked after all. */
void mg_io_drop(struct mg_io *io)
{
	struct mg_export *export = io->export;

	put_gsh_export(io->gsh);
	mg_io_unref(io);
	mg_pending_end(export);
}

/* ---- the pool's side ------------------------------------------------------------------------- */

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
	answered = io->step(io);
	release_op_context();
	if (answered)
		io_finish(io);
	mg_pending_end(export);
}
