/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/client.h"

#define HOLD_MAX_MS	 60000
#define FRAMES_PER_ROUND 64 /* received before callbacks have their turn */
#define LAST_ERRNO	 4095
#define HELLO_ID	 0 /* requests count from 1 */

static void arm_timer(struct migrate_volume *volume, unsigned ms)
{
	struct itimerspec in = {
		.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L + 1}};

	timerfd_settime(volume->timer, 0, &in, NULL);
}

void connection_wake(struct migrate_volume *volume)
{
	uint64_t one = 1;

	/* Fails only when the counter is full: then it is awake. */
	if (write(volume->wake, &one, sizeof(one)) < 0)
		return;
}

static bool is_bracket(const struct request *req)
{
	return req->frame.op == MIGRATE_OP_BEGIN || req->frame.op == MIGRATE_OP_END;
}

/* It is done with when it is sent. */
static bool needs_no_reply(const struct request *req)
{
	return req->frame.op == MIGRATE_OP_CANCEL;
}

static void watch(struct migrate_volume *volume, int op, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u32 = EVENT_SOCK};

	epoll_ctl(volume->epoll, op, volume->sock, &event);
}

/* ---- sending ------------------------------------------------------------------------------- */

/* What became of one attempt to send. */
enum sending { SENT, NO_ROOM, NO_MEMORY, BROKEN, REFUSED };

static enum sending classify(int ret)
{
	switch (-ret) {
	case 0:
		return SENT;
	case EAGAIN:
		return NO_ROOM;
	case ENOMEM:
	case ENOBUFS:
	case ETOOMANYREFS: /* descriptors under way, of this user */
		return NO_MEMORY;
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return BROKEN;
	default: /* EBADF, or a descriptor that cannot be passed */
		return REFUSED;
	}
}

/* False: nothing more can be sent for now. */
static bool send_request(struct migrate_volume *volume, struct request *req)
{
	enum sending sending =
		classify(migrate_frame_send(volume->sock, &req->frame, req->fds, req->nfds));

	switch (sending) {
	case SENT:
		request_unlink(req);
		if (needs_no_reply(req)) {
			request_retire(volume, req);
			return true;
		}
		req->state = REQUEST_SENT;
		request_list_append(&volume->sent, req);
		return true;
	case REFUSED:
		request_finish(volume, req, -EIO);
		connection_wake(volume);
		return true;
	case NO_ROOM:
		watch(volume, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
		break;
	case NO_MEMORY:
		watch(volume, EPOLL_CTL_MOD, EPOLLIN);
		arm_timer(volume, CLIENT_BACKOFF_MIN_MS);
		break;
	case BROKEN:
		volume->dead = true;
		connection_wake(volume);
		break;
	}
	volume->blocked = true;
	return false;
}

void connection_submit(struct migrate_volume *volume, struct request *req)
{
	req->state = REQUEST_QUEUED;
	request_list_append(&volume->queue[req->background], req);
	if (volume->state == READY && !volume->blocked)
		send_request(volume, req);
}

void connection_flush(struct migrate_volume *volume)
{
	if (volume->state != READY || volume->dead)
		return;
	volume->blocked = false;
	for (int i = 0; i < 2; i++) {
		while (!TAILQ_EMPTY(&volume->queue[i])) {
			if (!send_request(volume, TAILQ_FIRST(&volume->queue[i])))
				return;
		}
	}
	watch(volume, EPOLL_CTL_MOD, EPOLLIN);
}

/* ---- the connection's life ----------------------------------------------------------------- */

static void retry_later(struct migrate_volume *volume)
{
	arm_timer(volume, volume->backoff_ms);
	volume->backoff_ms *= 2;
	if (volume->backoff_ms > CLIENT_BACKOFF_MAX_MS)
		volume->backoff_ms = CLIENT_BACKOFF_MAX_MS;
}

static int connect_socket(struct migrate_volume *volume)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return -1;
	/* EAGAIN is the backlog being full: there is nothing to wait for but time. */
	if (connect(sock, (const struct sockaddr *)&volume->addr, sizeof(volume->addr)) == 0)
		return sock;
	close(sock);
	return -1;
}

static int say_hello(struct migrate_volume *volume)
{
	struct migrate_frame hello = {
		.op = MIGRATE_OP_HELLO,
		.id = HELLO_ID,
		.length = volume->role,
		.text = volume->name,
		.text_len = strlen(volume->name),
	};

	return migrate_frame_send(volume->sock, &hello, NULL, 0);
}

void connection_open(struct migrate_volume *volume)
{
	if (volume->serves) /* the directory may not have been there */
		migrate_volume_register(volume);
	pthread_mutex_lock(&volume->lock);
	if (volume->state == AWAY) {
		volume->sock = connect_socket(volume);
		if (volume->sock >= 0) {
			volume->state = SAID_HELLO;
			watch(volume, EPOLL_CTL_ADD, EPOLLIN);
			volume->dead = say_hello(volume) < 0;
		} else {
			retry_later(volume);
		}
	}
	pthread_mutex_unlock(&volume->lock);
}

/* Idempotent requests go back to the queue, in their order, before those never sent. */
static void requeue_sent(struct migrate_volume *volume)
{
	struct request *req;

	while ((req = TAILQ_LAST(&volume->sent, request_list))) {
		if (is_bracket(req)) {
			request_finish(volume, req, -ECONNRESET);
			continue;
		}
		request_unlink(req);
		req->state = REQUEST_QUEUED;
		request_list_prepend(&volume->queue[req->background], req);
	}
}

/* Frames that mean nothing to the next retriever. */
static void drop_queued_of_connection(struct migrate_volume *volume)
{
	struct request *next;

	for (int i = 0; i < 2; i++) {
		for (struct request *req = TAILQ_FIRST(&volume->queue[i]); req; req = next) {
			next = TAILQ_NEXT(req, link);
			if (req->frame.op == MIGRATE_OP_END)
				request_finish(volume, req, -ECONNRESET);
			else if (needs_no_reply(req))
				request_retire(volume, req);
		}
	}
}

static void close_socket(struct migrate_volume *volume)
{
	struct request *req;

	if (volume->sock < 0)
		return;
	/* By hand: a forked child may hold the socket open, and epoll with it. */
	epoll_ctl(volume->epoll, EPOLL_CTL_DEL, volume->sock, NULL);
	close(volume->sock);
	volume->sock = -1;
	volume->state = AWAY;
	volume->blocked = volume->dead = false;
	atomic_store(&volume->connected, false);
	requeue_sent(volume);
	drop_queued_of_connection(volume);
	while ((req = TAILQ_FIRST(&volume->open))) {
		req->state = REQUEST_LOST;
		request_unlink(req);
	}
}

static void finish_queued(struct migrate_volume *volume, int status)
{
	for (int i = 0; i < 2; i++) {
		while (!TAILQ_EMPTY(&volume->queue[i]))
			request_finish(volume, TAILQ_FIRST(&volume->queue[i]), status);
	}
}

void connection_lost(struct migrate_volume *volume)
{
	pthread_mutex_lock(&volume->lock);
	if (volume->sock >= 0) {
		close_socket(volume);
		retry_later(volume);
	}
	pthread_mutex_unlock(&volume->lock);
}

static void refuse_connection(struct migrate_volume *volume)
{
	pthread_mutex_lock(&volume->lock);
	close_socket(volume);
	volume->refused = true;
	finish_queued(volume, -EAGAIN);
	volume->backoff_ms = CLIENT_BACKOFF_MAX_MS;
	retry_later(volume);
	pthread_mutex_unlock(&volume->lock);
}

void connection_shut(struct migrate_volume *volume)
{
	while (!TAILQ_EMPTY(&volume->sent))
		request_finish(volume, TAILQ_FIRST(&volume->sent), -ECANCELED);
	finish_queued(volume, -ECANCELED);
	close_socket(volume);
}

/* ---- receiving ----------------------------------------------------------------------------- */

static int take_hello(struct migrate_volume *volume, const struct migrate_frame *frame)
{
	if (frame->op != (MIGRATE_OP_HELLO | MIGRATE_OP_REPLY) || frame->id != HELLO_ID)
		return -EBADMSG;
	if (frame->status)
		return frame->status == -EPROTO ? -EPROTO : -EBADMSG;
	atomic_store(&volume->hold_ms, frame->length < HOLD_MAX_MS ? frame->length : HOLD_MAX_MS);
	atomic_store(&volume->finished, frame->offset == 1);
	atomic_store(&volume->descriptors, frame->flags & MIGRATE_HELLO_DESCRIPTORS);
	volume->refused = false;
	volume->backoff_ms = CLIENT_BACKOFF_MIN_MS;
	volume->state = READY;
	atomic_store(&volume->connected, true);
	connection_flush(volume);
	return 0;
}

/* The retriever opened a bracket whose request was cancelled meanwhile: the node ends it. */
static void end_unwanted(struct migrate_volume *volume, struct request *req)
{
	struct migrate_frame end = {.op = MIGRATE_OP_END, .ref = req->frame.id};

	request_unlink(req);
	request_renumber(volume, req);
	end.id = req->frame.id;
	req->frame = end;
	req->nfds = 0;
	connection_submit(volume, req);
}

/* Of the set in migrate.h: a file server makes its clients' errors of it. */
static int closed_status(int status)
{
	/* the last three: of what is asked of something of another type */
	static const int set[] = {0,	  EAGAIN,  ECONNRESET, EREMOTEIO, EACCES, EPERM,
				  ESTALE, EBADMSG, ENOENT,     ECANCELED, EPROTO, ENOSPC,
				  EDQUOT, EROFS,   EIO,	       ENOMEM,	  EMFILE, ENFILE,
				  ENOLCK, ENOTDIR, EISDIR,     EINVAL};

	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		if (status == -set[i])
			return status;
	return -EREMOTEIO;
}

static void take_answer(struct migrate_volume *volume, struct request *req,
			const struct migrate_frame *frame)
{
	int status = req->text_done ? frame->status : closed_status(frame->status);

	if (req->text_done && !req->answered) {
		req->reply = strndup(frame->text, frame->text_len);
		if (!req->reply)
			status = -ENOMEM;
	}
	if (req->frame.op != MIGRATE_OP_BEGIN || status) {
		request_finish(volume, req, status);
	} else if (req->answered) {
		end_unwanted(volume, req);
	} else {
		request_unlink(req);
		req->state = REQUEST_OPEN;
		request_list_append(&volume->open, req);
		request_complete(volume, req, 0);
	}
}

static int take_reply(struct migrate_volume *volume, const struct migrate_frame *frame)
{
	struct request *req = request_find(volume, frame->id);

	if (!(frame->op & MIGRATE_OP_REPLY) || frame->status > 0 || frame->status < -LAST_ERRNO)
		return -EBADMSG;
	/* Not there any more: it was cancelled. */
	if (!req)
		return frame->id && frame->id < volume->next_id ? 0 : -EBADMSG;
	if (req->state != REQUEST_SENT || frame->op != (req->frame.op | MIGRATE_OP_REPLY))
		return -EBADMSG;
	take_answer(volume, req, frame);
	return 0;
}

/* 1: more replies are to come; 0: not now; else -errno. */
static int take_frame(struct migrate_volume *volume, size_t len)
{
	struct migrate_frame frame;
	int ret = migrate_frame_decode(volume->buf, len, &frame);

	if (ret < 0)
		return ret;
	pthread_mutex_lock(&volume->lock);
	if (volume->state != READY)
		ret = take_hello(volume, &frame);
	else
		ret = take_reply(volume, &frame);
	if (ret == 0)
		ret = !TAILQ_EMPTY(&volume->sent);
	pthread_mutex_unlock(&volume->lock);
	return ret;
}

void connection_receive(struct migrate_volume *volume)
{
	int more = 1;

	for (int i = 0; i < FRAMES_PER_ROUND && more > 0; i++) {
		ssize_t len = migrate_frame_recv(volume->sock, volume->buf, MIGRATE_FRAME_MAX, NULL,
						 NULL);

		if (len == -EAGAIN)
			return;
		more = len > 0 ? take_frame(volume, len) : -ECONNRESET;
	}
	if (more == -EPROTO)
		refuse_connection(volume);
	else if (more < 0)
		connection_lost(volume);
}
