/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "peer.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"
#include "ways/bracket.h"
#include "ways/bulk.h"
#include "control.h"
#include "ways/directory.h"
#include "ways/durability.h"
#include "notice.h"
#include "ways/directory_name.h"
#include "ways/finish.h"
#include "ways/transfer.h"
#include "volume/state.h"

#define FRAMES_AT_ONCE 64 /* of one peer before the others have their turn */

struct peer {
	gint refs;
	struct retriever *retriever;
	void (*forget)(void *owner, struct peer *peer);
	void *owner;
	int sock;
	guint source;
	enum migrate_role role; /* 0 before HELLO */
	GHashTable *brackets;	/* of struct bracket by the id of BEGIN; main thread */
	gint failed_begins;	/* atomic: some of them are no brackets */
	GHashTable *notices;	/* of struct notice by their id; main thread */
	uint64_t last_notice;

	GMutex lock;
	bool gone;
	GHashTable *open; /* ids of requests not answered yet, for CANCEL */
	GQueue out;	  /* of GBytes: replies the socket did not take yet */
	guint out_source;
};

/* One request that is worked on. */
struct request {
	struct peer *peer; /* referenced */
	uint64_t id;
	struct object *object; /* referenced, or NULL */
	bool begin;
};

enum migrate_role peer_role(const struct peer *peer)
{
	return peer->role;
}

static void peer_unref(struct peer *peer)
{
	if (!g_atomic_int_dec_and_test(&peer->refs))
		return;
	close(peer->sock);
	g_hash_table_destroy(peer->open);
	g_queue_clear_full(&peer->out, (GDestroyNotify)g_bytes_unref);
	g_mutex_clear(&peer->lock);
	g_free(peer);
}

/* ---- replies ---- */

static int send_bytes(struct peer *peer, const void *data, size_t len)
{
	return send(peer->sock, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer arg)
{
	struct peer *peer = arg;
	gboolean more;

	g_mutex_lock(&peer->lock);
	while (!g_queue_is_empty(&peer->out)) {
		GBytes *bytes = g_queue_peek_head(&peer->out);
		gsize len;
		const void *data = g_bytes_get_data(bytes, &len);

		if (send_bytes(peer, data, len) == -EAGAIN)
			break;
		g_bytes_unref(g_queue_pop_head(&peer->out));
	}
	more = !g_queue_is_empty(&peer->out) && !peer->gone;
	if (!more)
		peer->out_source = 0;
	g_mutex_unlock(&peer->lock);
	return more;
}

/* Lock held. */
static void send_frame(struct peer *peer, const struct migrate_frame *frame)
{
	uint8_t small[512], *buf = small;
	size_t size = MIGRATE_FRAME_HEADER + frame->text_len;
	ssize_t len;

	if (peer->gone)
		return;
	if (size > sizeof small)
		buf = g_malloc(size);
	len = migrate_frame_encode(frame, buf, MAX(size, sizeof small));
	if (len > 0 && (!g_queue_is_empty(&peer->out) || send_bytes(peer, buf, len) == -EAGAIN)) {
		g_queue_push_tail(&peer->out, g_bytes_new(buf, len));
		if (!peer->out_source)
			peer->out_source = g_unix_fd_add(peer->sock, G_IO_OUT, on_writable, peer);
	}
	if (buf != small)
		g_free(buf);
}

static void answer(struct peer *peer, uint64_t id, int status, const char *text)
{
	struct migrate_frame frame = {.op = MIGRATE_OP_REPLY, .id = id, .status = status};

	frame.text = text;
	frame.text_len = text ? MIN(strlen(text), MIGRATE_FRAME_MAX - MIGRATE_FRAME_HEADER) : 0;
	g_mutex_lock(&peer->lock);
	if (g_hash_table_lookup_extended(peer->open, &id, NULL, NULL)) {
		frame.op |= GPOINTER_TO_UINT(g_hash_table_lookup(peer->open, &id));
		g_hash_table_remove(peer->open, &id);
		send_frame(peer, &frame);
	}
	g_mutex_unlock(&peer->lock);
}

/* What doors are told is of migrate.h's set. */
static int for_doors(int status)
{
	switch (status) {
	case -EACCES:
	case -EPERM:
	case -ENOTSUP:
	case -ENAMETOOLONG:
	case -EEXIST:
	case -EMLINK:
		return -EREMOTEIO;
	default:
		return status;
	}
}

static void request_answer(void *arg, int status, const char *text)
{
	struct request *request = arg;

	if (request->begin && status < 0)
		g_atomic_int_set(&request->peer->failed_begins, 1);
	if (request->object)
		object_unref(request->object);
	answer(request->peer, request->id, status, text);
	peer_unref(request->peer);
	g_slice_free(struct request, request);
}

static void request_done(void *arg, int status)
{
	request_answer(arg, for_doors(status), NULL);
}

/* ---- requests ---- */

static struct request *request_new(struct peer *peer, uint64_t id, struct object *object)
{
	struct request *request = g_slice_new0(struct request);

	g_atomic_int_inc(&peer->refs);
	request->peer = peer;
	request->id = id;
	request->object = object;
	return request;
}

/* Only NFS servers want to be told of placings. */
static void warn_of_open_modes(const struct peer *peer)
{
	const struct volume_config *config = peer->retriever->config;

	if (peer->role == MIGRATE_ROLE_DOOR && config->smb_modes == SMB_MODES_OPEN &&
	    !config->acl_source)
		g_warning(
			"an NFS server exports %s, where smb-modes = open lets every NFS client "
			"do everything: end the export, or begin anew with smb-modes = descriptor",
			config->root);
}

static void do_hello(struct peer *peer, const struct migrate_frame *frame)
{
	struct retriever *retriever = peer->retriever;
	struct migrate_frame reply = {.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY, .id = frame->id};
	g_autofree char *name = g_strndup(frame->text, frame->text_len);
	enum volume_state state;

	if (strcmp(name, retriever->config->name) != 0 || frame->length < MIGRATE_ROLE_DOOR ||
	    frame->length > MIGRATE_ROLE_PLAIN_DOOR) {
		g_warning("a peer asked for volume `%s`; this is `%s`", name,
			  retriever->config->name);
		reply.status = -EINVAL;
	} else {
		if (!peer->role && frame->length == MIGRATE_ROLE_CRAWLER)
			COUNT_ADD(retriever, crawlers, 1);
		peer->role = frame->length;
		warn_of_open_modes(peer);
		reply.length = retriever->config->hold_ms;
		state = volume_state(retriever);
		reply.offset = state == VOLUME_WHOLE || state == VOLUME_FINISHED;
	}
	g_mutex_lock(&peer->lock);
	send_frame(peer, &reply);
	g_mutex_unlock(&peer->lock);
}

/* BEGINs that were answered with an error are no brackets (migrate.h): nobody ends them. */
static void forget_failed(struct peer *peer)
{
	GHashTableIter iter;
	gpointer bracket;

	if (!g_atomic_int_get(&peer->failed_begins))
		return;
	g_atomic_int_set(&peer->failed_begins, 0);
	g_hash_table_iter_init(&iter, peer->brackets);
	while (g_hash_table_iter_next(&iter, NULL, &bracket)) {
		if (bracket_failed(bracket)) {
			g_hash_table_iter_remove(&iter);
			bracket_abort(bracket);
		}
	}
}

static void do_begin(struct peer *peer, const struct migrate_frame *frame, struct request *request,
		     int dir_fd)
{
	uint64_t *id;
	struct bracket *bracket;

	if (frame->change < MIGRATE_WRITE || frame->change > MIGRATE_PLACE ||
	    g_hash_table_contains(peer->brackets, &frame->id)) {
		request_done(request, -EINVAL);
		return;
	}
	forget_failed(peer);
	request->begin = true;
	bracket = bracket_begin(request->object, frame->change, dir_fd, request_done, request);
	if (!bracket)
		return;
	id = g_memdup2(&frame->id, sizeof frame->id);
	g_hash_table_insert(peer->brackets, id, bracket);
}

static void do_end(struct peer *peer, const struct migrate_frame *frame)
{
	struct request *request = request_new(peer, frame->id, NULL);
	struct bracket *bracket = g_hash_table_lookup(peer->brackets, &frame->ref);
	/* A client may try to change what no file can have: that fails, but its bracket ends. */
	bool changed = frame->flags & MIGRATE_END_CHANGED && frame->offset <= INT64_MAX;

	if (!bracket) {
		request_done(request, -EINVAL);
		return;
	}
	g_hash_table_remove(peer->brackets, &frame->ref);
	bracket_end(bracket, changed, frame->flags & MIGRATE_END_DURABLE, frame->offset,
		    frame->length, request_done, request);
}

static void do_fill(const struct migrate_frame *frame, struct request *request)
{
	struct object *object = request->object;

	if (!is_directory(object))
		request_done(request, -ENOTDIR);
	else if (frame->flags & MIGRATE_DATA)
		bulk_start(object, request_done, request);
	else
		directory_fill(object,
			       frame->flags & MIGRATE_BACKGROUND ? BACKEND_BACKGROUND
								 : BACKEND_DEMAND,
			       frame->flags & MIGRATE_SMALL_DATA, request_done, request);
}

static void do_name(const struct migrate_frame *frame, struct request *request)
{
	g_autofree char *name = g_strndup(frame->text, frame->text_len);

	if (!*name || strlen(name) != frame->text_len || strlen(name) > 255 || strchr(name, '/') ||
	    !strcmp(name, ".") || !strcmp(name, ".."))
		request_done(request, -ENOENT);
	else if (!is_directory(request->object))
		request_done(request, -ENOTDIR);
	else
		directory_name(request->object, name, request_done, request);
}

static void do_range(const struct migrate_frame *frame, struct request *request)
{
	uint64_t start = MIN(frame->offset, INT64_MAX);
	uint64_t end = frame->length > INT64_MAX - start ? INT64_MAX : start + frame->length;

	transfer_fetch(request->object, start, end, frame->flags & MIGRATE_BACKGROUND, request_done,
		       request);
}

/* Requests about an object. */
static void do_object(struct peer *peer, const struct migrate_frame *frame, const int *fds,
		      size_t nfds)
{
	struct request *request = request_new(peer, frame->id, NULL);
	int ret;

	if (nfds < 1) {
		request_done(request, -EINVAL);
		return;
	}
	ret = object_get(peer->retriever, fds[0], &request->object);
	if (ret) {
		request->object = NULL;
		request_done(request, ret);
		return;
	}
	if (is_directory(request->object) && frame->op == MIGRATE_OP_RANGE) {
		request_done(request, -EISDIR);
		return;
	}
	switch (frame->op) {
	case MIGRATE_OP_RANGE:
		do_range(frame, request);
		break;
	case MIGRATE_OP_NAME:
		do_name(frame, request);
		break;
	case MIGRATE_OP_FILL:
		do_fill(frame, request);
		break;
	case MIGRATE_OP_FINISH:
		if (is_directory(request->object))
			finish_directory(request->object, request_done, request);
		else
			request_done(request, -ENOTDIR);
		break;
	case MIGRATE_OP_BEGIN: /* its END may have to be durable, also when it is normal */
		ret = object_keep_fd(request->object, fds[0]);
		if (ret)
			request_done(request, ret);
		else
			do_begin(peer, frame, request, nfds > 1 ? fds[1] : -1);
		break;
	default:
		ret = object_keep_fd(request->object, fds[0]);
		if (ret)
			request_done(request, ret);
		else
			durability_sync_later(request->object, request_done, request);
		break;
	}
}

static void do_control(struct peer *peer, const struct migrate_frame *frame)
{
	g_autofree char *command = g_strndup(frame->text, frame->text_len);

	control_command(peer->retriever, command, request_answer,
			request_new(peer, frame->id, NULL));
}

static void do_cancel(struct peer *peer, uint64_t id)
{
	struct bracket *bracket = g_hash_table_lookup(peer->brackets, &id);

	if (!bracket)
		answer(peer, id, -ECANCELED, NULL);
	else if (bracket_cancel(bracket))
		g_hash_table_remove(peer->brackets, &id);
}

static void note_open(struct peer *peer, const struct migrate_frame *frame)
{
	g_mutex_lock(&peer->lock);
	g_hash_table_insert(peer->open, g_memdup2(&frame->id, sizeof frame->id),
			    GUINT_TO_POINTER(frame->op));
	g_mutex_unlock(&peer->lock);
}

void peer_tell_placed(struct peer *peer, struct notice *notice)
{
	struct migrate_frame frame = {.op = MIGRATE_OP_PLACED, .id = ++peer->last_notice};

	notice_add(notice);
	g_hash_table_insert(peer->notices, g_memdup2(&frame.id, sizeof frame.id), notice);
	g_mutex_lock(&peer->lock);
	send_frame(peer, &frame);
	g_mutex_unlock(&peer->lock);
}

static gboolean do_noted(struct peer *peer, uint64_t id)
{
	struct notice *notice = g_hash_table_lookup(peer->notices, &id);

	if (!notice)
		return FALSE;
	g_hash_table_remove(peer->notices, &id);
	notice_noted(notice);
	return TRUE;
}

/* FALSE: the peer does not keep to the protocol. */
static gboolean handle(struct peer *peer, const struct migrate_frame *frame, const int *fds,
		       size_t nfds)
{
	if (frame->op == MIGRATE_OP_HELLO) {
		do_hello(peer, frame);
		return peer->role != 0;
	}
	if (frame->op == (MIGRATE_OP_PLACED | MIGRATE_OP_REPLY))
		return do_noted(peer, frame->ref);
	if (!peer->role || frame->op == 0 || frame->op > MIGRATE_OP_CONTROL)
		return FALSE;
	if (frame->op == MIGRATE_OP_CANCEL) {
		do_cancel(peer, frame->ref);
		return TRUE;
	}
	note_open(peer, frame);
	if (frame->op == MIGRATE_OP_END)
		do_end(peer, frame);
	else if (frame->op == MIGRATE_OP_CONTROL)
		do_control(peer, frame);
	else
		do_object(peer, frame, fds, nfds);
	return TRUE;
}

static void refuse_version(struct peer *peer, const struct migrate_frame *frame)
{
	struct migrate_frame reply = {
		.op = frame->op | MIGRATE_OP_REPLY, .id = frame->id, .status = -EPROTO};

	g_mutex_lock(&peer->lock);
	send_frame(peer, &reply);
	g_mutex_unlock(&peer->lock);
}

static gboolean on_frame(gint sock, GIOCondition condition, gpointer arg)
{
	static uint8_t buf[MIGRATE_FRAME_MAX]; /* main thread only */
	struct peer *peer = arg;
	gboolean keep = TRUE;

	for (unsigned i = 0; keep && i < FRAMES_AT_ONCE; i++) {
		int fds[MIGRATE_FRAME_MAX_FDS];
		size_t nfds = 0;
		struct migrate_frame frame;
		ssize_t len = migrate_frame_recv(sock, buf, sizeof buf, fds, &nfds);
		int ret;

		if (len == -EAGAIN || len == -EINTR)
			break;
		if (len <= 0) {
			keep = FALSE;
			break;
		}
		ret = migrate_frame_decode(buf, len, &frame);
		if (ret == -EPROTO)
			refuse_version(peer, &frame);
		keep = ret == 0 && handle(peer, &frame, fds, nfds);
		for (size_t j = 0; j < nfds; j++)
			close(fds[j]);
	}
	if (!keep) {
		peer->source = 0;
		peer_disconnect(peer);
	}
	return keep;
}

struct peer *peer_new(struct retriever *retriever, int sock,
		      void (*forget)(void *owner, struct peer *peer), void *owner)
{
	struct peer *peer = g_new0(struct peer, 1);

	peer->refs = 1;
	peer->retriever = retriever;
	peer->forget = forget;
	peer->owner = owner;
	peer->sock = sock;
	g_mutex_init(&peer->lock);
	g_queue_init(&peer->out);
	peer->open = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	peer->brackets = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	peer->notices = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	peer->source = g_unix_fd_add(sock, G_IO_IN, on_frame, peer);
	return peer;
}

void peer_disconnect(struct peer *peer)
{
	GHashTableIter iter;
	gpointer bracket, notice;

	peer->forget(peer->owner, peer);
	if (peer->role == MIGRATE_ROLE_CRAWLER)
		COUNT_ADD(peer->retriever, crawlers, -1);
	if (peer->source)
		g_source_remove(peer->source);
	g_mutex_lock(&peer->lock);
	peer->gone = true;
	if (peer->out_source)
		g_source_remove(peer->out_source);
	peer->out_source = 0;
	g_mutex_unlock(&peer->lock);
	shutdown(peer->sock, SHUT_RDWR);
	g_hash_table_iter_init(&iter, peer->brackets);
	while (g_hash_table_iter_next(&iter, NULL, &bracket))
		bracket_abort(bracket);
	g_hash_table_destroy(peer->brackets);
	g_hash_table_iter_init(&iter, peer->notices);
	while (g_hash_table_iter_next(&iter, NULL, &notice))
		notice_noted(notice);
	g_hash_table_destroy(peer->notices);
	peer_unref(peer);
}
