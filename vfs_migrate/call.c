/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "door.h"

/*
 * What libmigrate has of a call: lives until the reply.  A call that was given up has none.
 */
struct request {
	struct vm_call *call; /* NULL: given up */
	struct migrate_volume *client;
	uint64_t id;
	bool bracket; /* BEGIN */
	int fd, dir_fd;
};

struct vm_call {
	struct request *request; /* NULL: done */
	uint64_t begun;		 /* BEGIN that was granted and that nobody knows of yet */
	struct migrate_volume *client;
	struct tevent_context *ev;
	struct tevent_immediate *soon; /* runs done */
	vm_done_fn done;	       /* NULL: somebody waits */
	void *arg;
	bool at_once;
	bool answered;
	int status;
	uint64_t id;
};

static void ignore(void *arg, int status)
{
}

static void end_unwanted(struct migrate_volume *client, uint64_t begun)
{
	migrate_end(client, begun, false, false, 0, 0, ignore, NULL);
}

static void request_free(struct request *request)
{
	if (request->fd >= 0)
		close(request->fd);
	if (request->dir_fd >= 0)
		close(request->dir_fd);
	free(request);
}

static void finish(struct vm_call *call)
{
	call->begun = 0;
	call->done(call, call->status, call->arg);
}

static void run_done(struct tevent_context *ev, struct tevent_immediate *im, void *arg)
{
	finish(arg);
}

static void answer(struct vm_call *call, int status)
{
	call->request = NULL;
	call->answered = true;
	call->status = status;
	if (call->done && call->at_once)
		finish(call);
	else if (call->done)
		tevent_schedule_immediate(call->soon, call->ev, run_done, call);
}

/* The reply: possibly in the middle of any hook. */
static void request_done(void *arg, int status)
{
	struct request *request = arg;

	if (request->call) {
		if (request->bracket && status == 0)
			request->call->begun = request->id;
		answer(request->call, status);
	} else if (request->bracket && status == 0) {
		end_unwanted(request->client, request->id);
	}
	request_free(request);
}

static void give_up(struct vm_call *call)
{
	struct request *request = call->request;

	if (request) {
		request->call = NULL;
		call->request = NULL;
		migrate_cancel(request->client, request->id);
	} else if (call->begun) {
		end_unwanted(call->client, call->begun);
	}
	call->begun = 0;
}

static int call_destructor(struct vm_call *call)
{
	give_up(call);
	return 0;
}

static void on_timeout(struct tevent_context *ev, struct tevent_timer *timer, struct timeval now,
		       void *arg)
{
	struct vm_call *call = arg;

	if (call->answered)
		return;
	give_up(call);
	answer(call, -ETIMEDOUT);
}

static void on_readable(struct tevent_context *ev, struct tevent_fd *fde, uint16_t flags, void *arg)
{
	vm_volume_dispatch(arg, 0);
}

static uint64_t start(struct migrate_volume *client, const struct vm_ask *ask,
		      struct request *request)
{
	switch (ask->what) {
	case VM_FILL:
		return migrate_fill_directory(client, request->fd, 0, request_done, request);
	case VM_NAME:
		return migrate_fetch_name(client, request->fd, ask->name, 0, request_done, request);
	case VM_RANGE:
		return migrate_fetch_range(client, request->fd, ask->offset, ask->length, 0,
					   request_done, request);
	case VM_SYNC:
		return migrate_sync(client, request->fd, request_done, request);
	case VM_BEGIN:
		return migrate_begin(client, request->fd, request->dir_fd, ask->change, ask->offset,
				     ask->length, request_done, request);
	case VM_END:
		return migrate_end(client, ask->begun, ask->changed, ask->durable, ask->offset,
				   ask->length, request_done, request);
	}
	errno = EINVAL;
	return 0;
}

static struct request *request_new(struct migrate_volume *client, const struct vm_ask *ask)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->client = client;
	request->bracket = ask->what == VM_BEGIN;
	request->fd = request->dir_fd = -1;
	if (ask->what != VM_END)
		request->fd = vm_dup(ask->fd);
	if (ask->place)
		request->dir_fd = vm_dup(ask->dir_fd);
	if ((ask->what == VM_END || request->fd >= 0) && (!ask->place || request->dir_fd >= 0))
		return request;
	request_free(request);
	errno = EMFILE;
	return NULL;
}

static struct vm_call *call_new(TALLOC_CTX *mem_ctx, struct vfs_handle_struct *handle,
				const struct vm_ask *ask)
{
	struct migrate_volume *client = vm_share(handle)->volume->client;
	struct vm_call *call = talloc_zero(mem_ctx, struct vm_call);

	if (!call)
		return NULL;
	call->client = client;
	call->request = request_new(client, ask);
	if (!call->request) {
		TALLOC_FREE(call);
		return NULL;
	}
	call->request->call = call;
	call->id = call->request->id = start(client, ask, call->request);
	if (!call->id) {
		int error = errno ? errno : ENOMEM;

		request_free(call->request);
		TALLOC_FREE(call);
		errno = error;
		return NULL;
	}
	talloc_set_destructor(call, call_destructor);
	return call;
}

struct vm_call *vm_call_send(TALLOC_CTX *mem_ctx, struct vfs_handle_struct *handle,
			     struct tevent_context *ev, const struct vm_ask *ask, vm_done_fn done,
			     void *arg)
{
	struct vm_share *share = vm_share(handle);
	struct vm_call *call = call_new(mem_ctx, handle, ask);
	struct timeval end = timeval_current_ofs_msec(share->hold_ms);
	bool good;

	if (!call)
		return NULL;
	call->ev = ev;
	call->done = done;
	call->arg = arg;
	call->at_once = ask->at_once;
	call->soon = tevent_create_immediate(call);
	good = call->soon && tevent_add_timer(ev, call, end, on_timeout, call);
	/* Some of the host's waits have an event loop of their own. */
	if (good && ev != share->ev)
		good = tevent_add_fd(ev, call, migrate_volume_fd(call->client), TEVENT_FD_READ,
				     on_readable, share->volume);
	if (!good) {
		TALLOC_FREE(call);
		errno = ENOMEM;
	}
	return call;
}

int vm_call_wait(struct vfs_handle_struct *handle, const struct vm_ask *ask, uint64_t *begun)
{
	struct vm_share *share = vm_share(handle);
	struct timeval end = timeval_current_ofs_msec(share->hold_ms), now;
	struct vm_call *call = call_new(NULL, handle, ask);
	int status = -ETIMEDOUT;

	if (!call)
		return errno ? -errno : -ENOMEM;
	while (!call->answered) {
		now = timeval_current();
		if (timeval_compare(&now, &end) >= 0)
			break;
		vm_volume_dispatch(share->volume, usec_time_diff(&end, &now) / 1000 + 1);
	}
	if (call->answered) {
		status = call->status;
		call->begun = 0;
	}
	if (begun)
		*begun = call->id;
	TALLOC_FREE(call);
	return status;
}

uint64_t vm_call_begun(const struct vm_call *call)
{
	return call->id;
}

bool vm_become_user(struct files_struct *fsp)
{
	return change_to_user_and_service_by_fsp(fsp);
}
