/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Writes; those of unfinished files: see park.h. */
#include <errno.h>

#include "fsal_migrate/compat.h"
#include "fsal_migrate/ops.h"
#include "fsal_migrate/park.h"

#define ENDING_MS 10000

static void begin_done(void *arg, int status)
{
	struct mg_io *io = arg;

	pthread_mutex_lock(&io->volume->lock);
	if (io->stage == WAITING)
		mg_io_ready(io, status);
	else if (status == 0) /* the write was answered already */
		migrate_end(io->volume->client, io->begun, false, false, 0, 0, NULL, NULL);
	pthread_mutex_unlock(&io->volume->lock);
	mg_io_unref(io);
}

/* volume.lock.  0 or -errno. */
static int begin_start(struct mg_io *io)
{
	io->begun = migrate_begin(io->volume->client, io->fd, -1, MIGRATE_WRITE, io->offset,
				  io->length, begin_done, io);
	if (!io->begun)
		return -EAGAIN;
	io->refs++;
	return 0;
}

static void end_done(void *arg, int status)
{
	struct mg_io *io = arg;

	pthread_mutex_lock(&io->volume->lock);
	if (io->stage == ENDING) /* else the write was answered */
		mg_io_ready(io, status);
	pthread_mutex_unlock(&io->volume->lock);
	mg_io_unref(io);
}

/* The FSAL below has written, or has failed. */
static void written(struct fsal_obj_handle *sub, fsal_status_t status, void *arg, void *caller)
{
	struct mg_io *io = caller;
	bool failed;

	if (io->stable)
		status = mg_stable_status(status, io->arg);
	failed = FSAL_IS_ERROR(status);
	pthread_mutex_lock(&io->volume->lock);
	io->status = status;
	mg_io_wait(io, ENDING, migrate_in_ms(ENDING_MS));
	migrate_bracket_next(&io->bracket, failed ? -EIO : 0);
	if (migrate_end(io->volume->client, io->begun, !failed || io->arg->io_amount > 0,
			io->stable && !failed, io->offset, io->arg->io_amount, end_done, io))
		io->refs++;
	else
		mg_io_ready(io, -ECONNRESET);
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

static bool write_step(struct mg_io *io)
{
	enum migrate_step step;
	int result;

	pthread_mutex_lock(&io->volume->lock);
	step = migrate_bracket_next(&io->bracket, io->result);
	result = step == MIGRATE_STEP_BEGIN ? begin_start(io) : io->bracket.status;
	if (step == MIGRATE_STEP_BEGIN && result == 0)
		mg_io_wait(io, WAITING, io->deadline);
	pthread_mutex_unlock(&io->volume->lock);
	if (step == MIGRATE_STEP_CHANGE)
		write_below(io);
	if (step == MIGRATE_STEP_CHANGE || (step == MIGRATE_STEP_BEGIN && result == 0))
		return false;
	io->done_cb(&io->object->handle, result < 0 ? mg_status(result) : io->status, io->arg,
		    io->caller_arg);
	return true;
}

static void write_give_up(struct mg_io *io)
{
	migrate_cancel(io->volume->client, io->begun);
}

static void write2(struct fsal_obj_handle *handle, bool bypass, fsal_async_cb done_cb,
		   struct fsal_io_arg *arg, void *caller_arg)
{
	struct mg_object *object = mg_object(handle);
	struct mg_look look;
	struct mg_io *io;
	int result;

	if (mg_is_whole(object) || arg->info || compat_resumes(arg)) {
		mg_pass_down(handle, true, bypass, done_cb, arg, caller_arg);
		return;
	}
	result = mg_look(object, &look);
	if (result < 0) {
		done_cb(handle, mg_look_status(result), arg, caller_arg);
		return;
	}
	if (result == 0) {
		mg_look_done(&look);
		mg_pass_down(handle, true, bypass, done_cb, arg, caller_arg);
		return;
	}
	io = mg_io_new(object, bypass, done_cb, arg, caller_arg);
	if (io) {
		io->step = write_step;
		io->give_up = write_give_up;
		io->stable = arg->fsal_stable;
		io->bracket.until = io->deadline;
		io->fd = mg_look_steal_fd(&look);
		pthread_mutex_lock(&object->volume->lock);
		result = begin_start(io);
		if (result == 0)
			mg_io_park(io);
		pthread_mutex_unlock(&object->volume->lock);
	}
	mg_look_done(&look);
	if (io && result == 0)
		return;
	if (io)
		mg_io_drop(io);
	done_cb(handle, mg_delay(), arg, caller_arg);
}

void mg_write_ops_init(struct fsal_obj_ops *ops)
{
	ops->write2 = write2;
}
