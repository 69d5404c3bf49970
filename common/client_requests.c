/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client.h"

#define COMMAND_MAX 64512
#define NAME_BYTES  255

static uint64_t fail_with(int error)
{
	errno = error;
	return 0;
}

static struct request *request_new(uint16_t op, int fd, migrate_done_fn done, void *arg)
{
	struct request *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->frame.op = op;
	req->done = done;
	req->answered = !done;
	req->arg = arg;
	if (fd >= 0)
		req->fds[req->nfds++] = fd;
	return req;
}

/* Whether the request is one that a budget is for, and that is spent. */
static bool is_too_much(const struct migrate_volume *volume, const struct request *req)
{
	return volume->limit && volume->n_requests >= volume->limit &&
	       (req->frame.op == MIGRATE_OP_RANGE || req->frame.op == MIGRATE_OP_NAME ||
		req->frame.op == MIGRATE_OP_FILL || req->frame.op == MIGRATE_OP_BEGIN);
}

/* Takes the request; under the lock. */
static uint64_t submit_locked(struct migrate_volume *volume, struct request *req)
{
	int error = volume->closing ? EINVAL : is_too_much(volume, req) ? EAGAIN : 0;
	uint64_t id;

	if (!error && request_register(volume, req) < 0)
		error = ENOMEM;
	if (error) {
		request_free(req);
		return fail_with(error);
	}
	id = req->frame.id;
	if (volume->refused) {
		request_finish(volume, req, -EAGAIN);
		connection_wake(volume);
	} else {
		connection_submit(volume, req);
	}
	return id;
}

static uint64_t request_submit(struct migrate_volume *volume, struct request *req)
{
	uint64_t id;

	if (!req)
		return fail_with(ENOMEM);
	pthread_mutex_lock(&volume->lock);
	id = submit_locked(volume, req);
	pthread_mutex_unlock(&volume->lock);
	return id;
}

static struct request *with_text(struct request *req, const char *text, size_t len)
{
	if (!req)
		return NULL;
	req->text = strndup(text, len);
	if (!req->text) {
		request_free(req);
		return NULL;
	}
	req->frame.text = req->text;
	req->frame.text_len = len;
	return req;
}

/* What is asked about one object; flags: `allowed` ones of the caller's. */
static uint64_t ask_about(struct migrate_volume *volume, uint16_t op, int fd, unsigned flags,
			  unsigned allowed, uint64_t offset, uint64_t length, migrate_done_fn done,
			  void *arg)
{
	struct request *req;

	if (fd < 0 || (flags & ~allowed))
		return fail_with(EINVAL);
	req = request_new(op, fd, done, arg);
	if (req) {
		req->background = flags & MIGRATE_BACKGROUND;
		req->frame.flags = flags;
		req->frame.offset = offset;
		req->frame.length = length;
	}
	return request_submit(volume, req);
}

uint64_t migrate_fetch_range(struct migrate_volume *volume, int fd, uint64_t offset,
			     uint64_t length, unsigned flags, migrate_done_fn done, void *arg)
{
	return ask_about(volume, MIGRATE_OP_RANGE, fd, flags,
			 MIGRATE_BACKGROUND | MIGRATE_DURABLE | MIGRATE_FIRST, offset, length, done,
			 arg);
}

uint64_t migrate_fetch_name(struct migrate_volume *volume, int fd, const char *name, unsigned flags,
			    migrate_done_fn done, void *arg)
{
	size_t len = strlen(name);
	struct request *req;

	if (fd < 0 || (flags & ~MIGRATE_BACKGROUND) || len < 1 || len > NAME_BYTES ||
	    strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return fail_with(EINVAL);
	req = with_text(request_new(MIGRATE_OP_NAME, fd, done, arg), name, len);
	if (req) {
		req->background = flags & MIGRATE_BACKGROUND;
		req->frame.flags = flags;
	}
	return request_submit(volume, req);
}

uint64_t migrate_fill_directory(struct migrate_volume *volume, int fd, unsigned flags,
				migrate_done_fn done, void *arg)
{
	return migrate_fill_since(volume, fd, flags, 0, done, arg);
}

uint64_t migrate_fill_since(struct migrate_volume *volume, int fd, unsigned flags, int64_t since,
			    migrate_done_fn done, void *arg)
{
	return ask_about(volume, MIGRATE_OP_FILL, fd, flags,
			 MIGRATE_BACKGROUND | MIGRATE_DATA | MIGRATE_SMALL_DATA | MIGRATE_FIRST |
				 MIGRATE_READS,
			 (uint64_t)since, 0, done, arg);
}

uint64_t migrate_finish_directory(struct migrate_volume *volume, int fd, migrate_done_fn done,
				  void *arg)
{
	struct request *req;

	if (fd < 0)
		return fail_with(EINVAL);
	req = request_new(MIGRATE_OP_FINISH, fd, done, arg);
	if (req)
		req->background = true;
	return request_submit(volume, req);
}

uint64_t migrate_sync(struct migrate_volume *volume, int fd, migrate_done_fn done, void *arg)
{
	return ask_about(volume, MIGRATE_OP_SYNC, fd, 0, 0, 0, 0, done, arg);
}

uint64_t migrate_control(struct migrate_volume *volume, const char *command, migrate_text_fn done,
			 void *arg)
{
	size_t len = strlen(command);
	struct request *req;

	if (len < 1 || len > COMMAND_MAX)
		return fail_with(EINVAL);
	req = with_text(request_new(MIGRATE_OP_CONTROL, -1, NULL, arg), command, len);
	if (req) {
		req->text_done = done;
		req->answered = false;
	}
	return request_submit(volume, req);
}

uint64_t migrate_begin(struct migrate_volume *volume, int fd, int dir_fd,
		       enum migrate_change change, uint64_t offset, uint64_t length,
		       migrate_done_fn done, void *arg)
{
	struct request *req;

	if (fd < 0 || change < MIGRATE_WRITE || change > MIGRATE_PLACE ||
	    (change == MIGRATE_PLACE) != (dir_fd >= 0))
		return fail_with(EINVAL);
	req = request_new(MIGRATE_OP_BEGIN, fd, done, arg);
	if (!req)
		return fail_with(ENOMEM);
	req->end = request_new(MIGRATE_OP_END, -1, NULL, NULL);
	if (!req->end) {
		request_free(req);
		return fail_with(ENOMEM);
	}
	if (dir_fd >= 0)
		req->fds[req->nfds++] = dir_fd;
	req->frame.change = change;
	req->frame.offset = offset;
	req->frame.length = length;
	return request_submit(volume, req);
}

/* Under the lock. */
static uint64_t end_locked(struct migrate_volume *volume, struct request *bracket,
			   struct request *req)
{
	uint64_t id;

	request_register(volume, req); /* there is a table: BEGIN is in it */
	id = req->frame.id;
	if (bracket->state == REQUEST_OPEN) {
		connection_submit(volume, req);
	} else {
		request_finish(volume, req, -ECONNRESET);
		connection_wake(volume);
	}
	request_retire(volume, bracket);
	return id;
}

uint64_t migrate_end(struct migrate_volume *volume, uint64_t begun, bool changed, bool durable,
		     uint64_t offset, uint64_t length, migrate_done_fn done, void *arg)
{
	struct request *bracket, *req;
	uint64_t id = 0;

	pthread_mutex_lock(&volume->lock);
	bracket = request_find(volume, begun);
	if (!volume->closing && bracket && bracket->end &&
	    (bracket->state == REQUEST_OPEN || bracket->state == REQUEST_LOST)) {
		req = bracket->end;
		bracket->end = NULL;
		req->done = done;
		req->answered = !done;
		req->arg = arg;
		req->frame.ref = begun;
		req->frame.flags =
			(changed ? MIGRATE_END_CHANGED : 0) | (durable ? MIGRATE_END_DURABLE : 0);
		req->frame.offset = offset;
		req->frame.length = length;
		id = end_locked(volume, bracket, req);
	}
	pthread_mutex_unlock(&volume->lock);
	return id ? id : fail_with(EINVAL);
}

/* Tells the retriever; without memory it just works in vain. */
static void send_cancel(struct migrate_volume *volume, uint64_t id)
{
	struct request *cancel = request_new(MIGRATE_OP_CANCEL, -1, NULL, NULL);

	if (!cancel)
		return;
	cancel->frame.ref = id;
	connection_submit(volume, cancel);
}

static void request_cancel(struct migrate_volume *volume, struct request *req)
{
	uint64_t id = req->frame.id;

	request_complete(volume, req, -ECANCELED);
	connection_wake(volume);
	/* A bracket has to be closed all the same. */
	if (req->frame.op == MIGRATE_OP_END)
		return;
	if (req->state == REQUEST_QUEUED) {
		request_retire(volume, req);
		return;
	}
	/* A BEGIN stays: if its answer is on the way already, there is a bracket to close. */
	if (req->frame.op != MIGRATE_OP_BEGIN)
		request_retire(volume, req);
	send_cancel(volume, id);
}

void migrate_cancel(struct migrate_volume *volume, uint64_t id)
{
	struct request *req;

	pthread_mutex_lock(&volume->lock);
	req = request_find(volume, id);
	if (req && !req->answered)
		request_cancel(volume, req);
	pthread_mutex_unlock(&volume->lock);
}
