/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "bracket.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "call.h"

/* The object's descriptors for a request, in a new call; NULL when that is not possible now. */
static struct mg_call *new_call(struct mg_object *object, struct mg_look *look,
				const struct mg_change *change)
{
	int fd = fcntl(look->fd, F_DUPFD_CLOEXEC, 0), dir_fd = -1;

	if (fd < 0)
		return NULL;
	if (change->dir) {
		dir_fd = mg_object_open(change->dir);
		if (dir_fd < 0) {
			close(fd);
			return NULL;
		}
	}
	return mg_call_new(object->volume, fd, dir_fd);
}

/* 0 and the bracket's request: it is open and must be ended.  Else -errno. */
static int begin(struct mg_object *object, struct mg_look *look, const struct mg_change *change,
		 const struct timespec *deadline, uint64_t *begun)
{
	struct mg_volume *volume = object->volume;
	struct mg_call *call = new_call(object, look, change);
	int result;

	if (!call)
		return -EAGAIN;
	pthread_mutex_lock(&volume->lock);
	mg_call_begin(call, change->kind, change->offset, change->length);
	pthread_mutex_unlock(&volume->lock);
	result = mg_call_wait(call, deadline);
	if (result == -EAGAIN) {
		pthread_mutex_lock(&volume->lock);
		mg_call_give_up(call);
		pthread_mutex_unlock(&volume->lock);
	}
	*begun = call->request;
	mg_call_unref(call);
	return result;
}

/*
 * The retriever answers without the old server.  If it takes too long all the same, it hangs: a
 * change that can be made again will be.  One that cannot is answered as it was made, though the
 * record does not know of it yet.  The end is on its way, and the bracket open, so that nothing is
 * filled, and no directory finished, before the retriever has heard of it; should it be killed
 * first, the record shows the ctime from before.
 */
static int end(struct mg_call *call, const struct mg_change *change, uint64_t begun, bool changed)
{
	struct timespec deadline = mg_deadline(call->volume);

	pthread_mutex_lock(&call->volume->lock);
	mg_call_end(call, begun, changed, false, change->offset, change->length);
	pthread_mutex_unlock(&call->volume->lock);
	return mg_call_wait(call, &deadline);
}

static fsal_status_t bracket(struct mg_object *object, struct mg_look *look,
			     const struct mg_change *change, struct timespec deadline)
{
	fsal_status_t status = mg_ok();
	struct mg_call *ending;
	bool made = false;
	uint64_t begun;
	int result;

	do {
		/* Made first: an open bracket must be ended, whatever happens. */
		ending = mg_call_new(object->volume, -1, -1);
		if (!ending)
			return made && change->once ? status : mg_delay();
		result = begin(object, look, change, &deadline, &begun);
		if (result == 0) {
			if (!made || !change->once)
				status = change->make(change->arg);
			made = true;
			result = end(ending, change, begun, !FSAL_IS_ERROR(status));
		}
		mg_call_unref(ending);
	} while (result == -ECONNRESET && !migrate_passed(&deadline));
	/* A name that was made cannot be made again: the client must hear of it. */
	if (made && (change->once || FSAL_IS_ERROR(status)))
		return status;
	return mg_status(result);
}

int mg_hold(struct mg_object *dir, enum migrate_hold hold, struct timespec deadline)
{
	int fd = mg_object_open(dir), held;

	if (fd < 0)
		return fd;
	held = migrate_hold(fd, hold, &deadline);
	close(fd);
	return held;
}

fsal_status_t mg_bracket(struct mg_object *object, struct mg_look *look,
			 const struct mg_change *change)
{
	struct timespec deadline = mg_deadline(object->volume);
	fsal_status_t status;
	int held = -1;

	if (change->dir) {
		held = mg_hold(change->dir, MIGRATE_HOLD_SHARED, deadline);
		if (held < 0)
			return mg_look_status(held);
	}
	status = bracket(object, look, change, deadline);
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
		status = mg_bracket(object, &look, change);
	else
		status = change->make(change->arg);
	mg_look_done(&look);
	return status;
}

fsal_status_t mg_change(struct mg_object *object, const struct mg_change *change)
{
	if (mg_is_normal(object))
		return change->make(change->arg);
	return mg_look_and_change(object, change);
}
