/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "fsal_migrate/bracket.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fsal_migrate/call.h"

/* 0, and begun: the bracket is open and must be ended.  Else -errno. */
static int bracket_begin(struct mg_volume *volume, int object_fd, const struct mg_change *change,
			 const struct timespec *deadline, uint64_t *begun)
{
	int fd = fcntl(object_fd, F_DUPFD_CLOEXEC, 0), dir_fd = -1, result;
	struct mg_call *call = NULL;

	if (fd >= 0 && change->dir)
		dir_fd = mg_object_open(change->dir);
	if (fd >= 0 && (dir_fd >= 0 || !change->dir))
		call = mg_call_new(volume, fd, dir_fd);
	else if (fd >= 0)
		close(fd);
	if (!call)
		return -EAGAIN;
	pthread_mutex_lock(&volume->lock);
	mg_call_begin(call, change->kind, change->offset, change->length);
	pthread_mutex_unlock(&volume->lock);
	result = mg_call_wait(call, deadline);
	*begun = call->request;
	mg_call_unref(call);
	return result;
}

/*
 * The retriever answers an end without the old server; if that takes too long, the retriever hangs.
 * The end is on its way then, and the bracket is open, so that nothing is filled, and no directory
 * finished, before the retriever has got the end.
 */
static int bracket_end(struct mg_call *call, const struct mg_change *change, uint64_t begun,
		       bool changed)
{
	struct timespec deadline = mg_deadline(call->volume);

	pthread_mutex_lock(&call->volume->lock);
	mg_call_end(call, begun, changed, false, change->offset, change->length);
	pthread_mutex_unlock(&call->volume->lock);
	return mg_call_wait(call, &deadline);
}

static fsal_status_t bracket(struct mg_volume *volume, int fd, const struct mg_change *change,
			     struct timespec deadline)
{
	struct migrate_bracket bracket = {.once = change->once, .until = deadline};
	fsal_status_t status = mg_ok();
	struct mg_call *ending = NULL;
	uint64_t begun = 0;
	int result;

	do {
		switch (bracket.step) {
		case MIGRATE_STEP_BEGIN:
			/* The call for the end is made first, as an open bracket must be ended in
			 * any case. */
			ending = mg_call_new(volume, -1, -1);
			result = ending ? bracket_begin(volume, fd, change, &deadline, &begun)
					: -ENOMEM;
			if (ending && result < 0)
				mg_call_unref(ending);
			if (result == 0 && change->dir)
				mg_set_filled(change->dir);
			break;
		case MIGRATE_STEP_CHANGE:
			status = change->make(change->arg);
			result = FSAL_IS_ERROR(status) ? -EIO : 0;
			break;
		default:
			result = bracket_end(ending, change, begun, !bracket.failed);
			mg_call_unref(ending);
		}
	} while (migrate_bracket_next(&bracket, result) != MIGRATE_STEP_ANSWER);
	return bracket.status < 0 ? mg_status(bracket.status) : status;
}

int mg_hold(struct mg_object *dir, enum migrate_lock_directory hold, struct timespec deadline)
{
	int fd = mg_object_open(dir), held;

	if (fd < 0)
		return fd;
	held = migrate_lock_directory(fd, hold, &deadline);
	close(fd);
	return held;
}

fsal_status_t mg_bracket(struct mg_volume *volume, int fd, const struct mg_change *change)
{
	struct timespec deadline = mg_deadline(volume);
	fsal_status_t status;
	int held = -1;

	if (change->dir) {
		held = mg_hold(change->dir, MIGRATE_HOLD_SHARED, deadline);
		if (held < 0)
			return mg_look_status(held);
	}
	status = bracket(volume, fd, change, deadline);
	if (held >= 0)
		close(held);
	return status;
}

fsal_status_t mg_look_and_change(struct mg_object *object, const struct mg_change *change)
{
	struct mg_look look;
	fsal_status_t status;
	int result = mg_look(object, &look);

	if (result < 0)
		return mg_look_status(result);
	if (result > 0)
		status = mg_bracket(object->volume, look.fd, change);
	else
		status = change->make(change->arg);
	mg_look_done(&look);
	return status;
}

fsal_status_t mg_change(struct mg_object *object, const struct mg_change *change)
{
	if (mg_is_whole(object))
		return change->make(change->arg);
	return mg_look_and_change(object, change);
}
