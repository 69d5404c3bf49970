/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/call.h"

#define PAUSE_MS 50 /* before a request is made again that is not possible yet */
#define LATE_MS	 10 /* for waits after one that was in vain */

/*
 * The part of a call that libmigrate has: it lives until the reply, even if the call is given up.
 */
struct request {
	struct vm_call *call; /* NULL: given up */
	struct migrate_volume *client;
	uint64_t id;	   /* 0: it pauses */
	struct vm_ask ask; /* with a name and descriptors of its own */
};

struct vm_call {
	struct vm_call *prev, *next; /* vm_volume.calls */
	struct vm_volume *volume;    /* NULL: it is gone */
	struct request *request;     /* NULL: done */
	uint64_t begun;		     /* BEGIN that was granted and that nobody knows of yet */
	struct tevent_context *ev;
	struct tevent_immediate *soon; /* runs done */
	vm_done_fn done;	       /* NULL: vm_call_wait() waits */
	void *arg;
	bool at_once;
	bool answered;
	int status;
	uint64_t id;
	struct timeval pause_end;
};

static void end_unwanted(struct migrate_volume *client, uint64_t begun)
{
	migrate_end(client, begun, false, false, 0, 0, NULL, NULL);
}

static void request_free(struct request *request)
{
	if (request->ask.fd >= 0)
		close(request->ask.fd);
	if (request->ask.dir_fd >= 0)
		close(request->ask.dir_fd);
	free((char *)request->ask.name);
	free(request);
}

static void call_finish(struct vm_call *call)
{
	call->begun = 0;
	call->done(call, call->status, call->arg);
}

static void run_done(struct tevent_context *ev, struct tevent_immediate *im, void *arg)
{
	call_finish(arg);
}

static void call_answer(struct vm_call *call, int status)
{
	call->request = NULL;
	call->answered = true;
	call->status = status;
	if (call->done && call->at_once)
		call_finish(call);
	else if (call->done)
		tevent_schedule_immediate(call->soon, call->ev, run_done, call);
}

static void request_done(void *arg, int status);

static uint64_t request_start(struct request *request)
{
	const struct vm_ask *ask = &request->ask;
	struct migrate_volume *client = request->client;

	switch (ask->what) {
	case VM_FILL:
		return migrate_fill_directory(client, ask->fd, 0, request_done, request);
	case VM_NAME:
		return migrate_fetch_name(client, ask->fd, ask->name, 0, request_done, request);
	case VM_RANGE:
		return migrate_fetch_range(client, ask->fd, ask->offset, ask->length,
					   ask->make_durable ? MIGRATE_DURABLE : 0, request_done,
					   request);
	case VM_SYNC:
		return migrate_sync(client, ask->fd, request_done, request);
	case VM_BEGIN:
		return migrate_begin(client, ask->fd, ask->dir_fd, ask->change, ask->offset,
				     ask->length, request_done, request);
	case VM_END:
		return migrate_end(client, ask->begun, ask->changed, ask->durable, ask->offset,
				   ask->length, request_done, request);
	}
	errno = EINVAL;
	return 0;
}

static void start_again(struct vm_call *call)
{
	struct request *request = call->request;

	request->id = call->id = request_start(request);
	if (request->id)
		return;
	call_answer(call, errno ? -errno : -ENOMEM);
	request_free(request);
}

static void on_pause_end(struct tevent_context *ev, struct tevent_timer *timer, struct timeval now,
			 void *arg)
{
	struct vm_call *call = arg;

	if (call->request && !call->request->id)
		start_again(call);
}

/* "Not yet": for example, the old server knows the object by another handle now. */
static bool request_pauses(struct request *request, int status)
{
	struct vm_call *call = request->call;

	if (status != -EAGAIN || (request->ask.what != VM_FILL && request->ask.what != VM_NAME &&
				  request->ask.what != VM_RANGE))
		return false;
	call->pause_end = timeval_current_ofs_msec(PAUSE_MS);
	if (call->done && !tevent_add_timer(call->ev, call, call->pause_end, on_pause_end, call))
		return false;
	request->id = 0;
	return true;
}

/* The reply: possibly in the middle of any hook. */
static void request_done(void *arg, int status)
{
	struct request *request = arg;
	bool granted = request->ask.what == VM_BEGIN && status == 0;

	if (request->call && request_pauses(request, status))
		return;
	if (request->call) {
		if (granted)
			request->call->begun = request->id;
		call_answer(request->call, status);
	} else if (granted) {
		end_unwanted(request->client, request->id);
	}
	request_free(request);
}

static void call_give_up(struct vm_call *call)
{
	struct request *request = call->request;

	call->request = NULL;
	if (request && request->id) {
		request->call = NULL;
		migrate_cancel(request->client, request->id);
	} else if (request) {
		request_free(request);
	} else if (call->begun) {
		end_unwanted(call->volume->client, call->begun);
	}
	call->begun = 0;
}

static void close_calls(struct vm_volume *volume)
{
	struct vm_call *call, *next;

	/* libmigrate has answered the other calls. */
	for (call = volume->calls; call; call = next) {
		next = call->next;
		call->begun = 0;
		if (call->request) {
			call_give_up(call);
			call_answer(call, -ECANCELED);
		}
		DLIST_REMOVE(volume->calls, call);
		call->volume = NULL;
	}
}

static int call_destructor(struct vm_call *call)
{
	call_give_up(call);
	if (call->volume)
		DLIST_REMOVE(call->volume->calls, call);
	return 0;
}

static void on_timeout(struct tevent_context *ev, struct tevent_timer *timer, struct timeval now,
		       void *arg)
{
	struct vm_call *call = arg;

	if (call->answered)
		return;
	call_give_up(call);
	call_answer(call, -ETIMEDOUT);
}

static void on_readable(struct tevent_context *ev, struct tevent_fd *fde, uint16_t flags, void *arg)
{
	vm_volume_dispatch(arg, 0);
}

/* NULL: errno. */
static struct request *new_request(struct migrate_volume *client, const struct vm_ask *ask)
{
	struct request *request = calloc(1, sizeof(*request));
	int fd = ask->what == VM_END ? -1 : vm_dup(ask->fd);
	int dir_fd = ask->place ? vm_dup(ask->dir_fd) : -1;
	char *name = ask->name ? strdup(ask->name) : NULL;

	if (request && (fd >= 0 || ask->what == VM_END) && (dir_fd >= 0 || !ask->place) &&
	    (name || !ask->name)) {
		request->client = client;
		request->ask = *ask;
		request->ask.fd = fd;
		request->ask.dir_fd = dir_fd;
		request->ask.name = name;
		return request;
	}
	if (fd >= 0)
		close(fd);
	if (dir_fd >= 0)
		close(dir_fd);
	free(name);
	free(request);
	errno = ENFILE;
	return NULL;
}

/* An open bracket is ended all the same, without a call: otherwise nothing could be written to that
 * file for ever.  libmigrate needs no memory for that.  NULL, errno kept. */
static struct vm_call *call_failed(struct migrate_volume *client, const struct vm_ask *ask)
{
	int error = errno;

	if (ask->what == VM_END)
		migrate_end(client, ask->begun, ask->changed, ask->durable, ask->offset,
			    ask->length, NULL, NULL);
	errno = error;
	return NULL;
}

static struct vm_call *call_new(TALLOC_CTX *mem_ctx, struct vfs_handle_struct *handle,
				const struct vm_ask *ask)
{
	struct vm_volume *volume = vm_share(handle)->volume;
	struct vm_call *call = talloc_zero(mem_ctx, struct vm_call);

	if (!call) {
		errno = ENOMEM;
		return call_failed(volume->client, ask);
	}
	call->request = new_request(volume->client, ask);
	if (!call->request) {
		TALLOC_FREE(call);
		return call_failed(volume->client, ask);
	}
	call->request->call = call;
	call->id = call->request->id = request_start(call->request);
	if (!call->id) {
		int error = errno == EAGAIN ? ETIMEDOUT : errno ? errno : ENOMEM;

		request_free(call->request);
		TALLOC_FREE(call);
		errno = error;
		return NULL;
	}
	DBG_DEBUG("request %" PRIu64 ", kind %d\n", call->id, (int)ask->what);
	call->volume = volume;
	volume->close_calls = close_calls;
	DLIST_ADD(volume->calls, call);
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
		good = tevent_add_fd(ev, call, migrate_volume_fd(call->volume->client),
				     TEVENT_FD_READ, on_readable, share->volume);
	if (!good) {
		TALLOC_FREE(call);
		errno = ENOMEM;
	}
	return call;
}

static void next_turn(struct tevent_context *ev, struct tevent_immediate *im, void *arg)
{
	struct vm_volume *volume = arg;

	volume->late = false;
}

/*
 * One request of a client may have to wait for many names, for example a listing of symbolic links.
 * After one wait in vain the others would be in vain, too: so names are asked for, and hardly
 * waited for, until the event loop takes the next request.
 */
static bool is_late(struct vm_volume *volume, const struct vm_ask *ask)
{
	return volume->late && ask->what != VM_BEGIN && ask->what != VM_END;
}

static void note_late(struct vm_share *share)
{
	share->volume->late = true;
	tevent_schedule_immediate(share->volume->turn, share->ev, next_turn, share->volume);
}

static unsigned ms_until(struct timeval end)
{
	struct timeval now = timeval_current();

	return timeval_compare(&now, &end) >= 0 ? 0 : usec_time_diff(&end, &now) / 1000 + 1;
}

int vm_call_wait(struct vfs_handle_struct *handle, const struct vm_ask *ask, uint64_t *begun)
{
	struct vm_share *share = vm_share(handle);
	bool late = is_late(share->volume, ask);
	struct timeval end = timeval_current_ofs_msec(late ? LATE_MS : share->hold_ms);
	struct vm_call *call = call_new(NULL, handle, ask);
	int status = -ETIMEDOUT;
	unsigned left, pause;

	if (!call)
		return errno ? -errno : -ENOMEM;
	while (!call->answered && (left = ms_until(end))) {
		pause = call->request->id ? left : ms_until(call->pause_end);
		if (!pause)
			start_again(call);
		else
			vm_volume_dispatch(share->volume, MIN(left, pause));
	}
	if (call->answered) {
		status = call->status;
		call->begun = 0;
	} else if (!late && ask->what != VM_BEGIN && ask->what != VM_END) {
		note_late(share);
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
