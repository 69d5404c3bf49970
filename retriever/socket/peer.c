/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/peer.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/protocol.h"
#include "lib/config/config.h"
#include "lib/config/config_ids.h"
#include "retriever/objects/state.h"
#include "retriever/socket/requests.h"

#define FRAMES_AT_ONCE 64		/* of one peer before the others have their turn */
#define UNREAD_MAX     ((gsize)4 << 20) /* bytes of replies that a peer did not take */
#define RETRY_MS       20
#define WATCHER_UNREAD ((gsize)256 << 10) /* the same for a watcher */

struct peer {
	struct retriever *retriever;
	void (*forget)(void *owner, struct peer *peer);
	void *owner;
	int sock;
	bool watcher;
	guint source;
	enum migrate_role role;	   /* 0 before HELLO */
	struct requests *requests; /* NULL before HELLO */

	GMutex lock;	   /* a leaf */
	GQueue out;	   /* of GBytes: what the socket did not take yet */
	gsize unread;	   /* bytes of it */
	guint out_source;  /* tries again */
	guint hung_source; /* it does not read: it is to be disconnected */
};

static const char *const role_names[] = {
	[MIGRATE_ROLE_DOOR] = "door",
	[MIGRATE_ROLE_CRAWLER] = "crawler",
	[MIGRATE_ROLE_CONTROL] = "migratectl",
	[MIGRATE_ROLE_PLAIN_DOOR] = "smbd",
};

void peer_add_open(struct peer *peer, GPtrArray *list)
{
	if (peer->requests)
		requests_add_open(peer->requests, list);
}

/* ---- what is sent ---- */

/* -EAGAIN: not now, for whatever reason. */
static int send_bytes(struct peer *peer, const void *data, size_t len)
{
	if (send(peer->sock, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	return errno == ENOBUFS || errno == ENOMEM || errno == EINTR ? -EAGAIN : -errno;
}

/* Lock held.  Whether something could be sent; what never can is of a peer that is gone. */
static bool send_waiting(struct peer *peer)
{
	bool sent = false;
	GBytes *bytes;

	while ((bytes = g_queue_peek_head(&peer->out))) {
		gsize len;
		const void *data = g_bytes_get_data(bytes, &len);

		if (send_bytes(peer, data, len) == -EAGAIN)
			break;
		sent = true;
		peer->unread -= len;
		g_bytes_unref(g_queue_pop_head(&peer->out));
	}
	return sent;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer arg);

static gboolean send_again(gpointer arg)
{
	struct peer *peer = arg;

	g_mutex_lock(&peer->lock);
	peer->out_source = g_unix_fd_add(peer->sock, G_IO_OUT, on_writable, peer);
	g_mutex_unlock(&peer->lock);
	return G_SOURCE_REMOVE;
}

/* If memory is short poll() reports the socket as writable although a write fails. */
static gboolean on_writable(gint fd, GIOCondition condition, gpointer arg)
{
	struct peer *peer = arg;
	bool sent, more;

	g_mutex_lock(&peer->lock);
	sent = send_waiting(peer);
	more = !g_queue_is_empty(&peer->out);
	if (!more)
		peer->out_source = 0;
	else if (!sent)
		peer->out_source = g_timeout_add(RETRY_MS, send_again, peer);
	g_mutex_unlock(&peer->lock);
	return more && sent;
}

static gboolean end_hung(gpointer arg)
{
	struct peer *peer = arg;

	if (!peer->watcher)
		g_warning("a peer does not read its replies: it is disconnected");
	peer->hung_source = 0;
	peer_disconnect(peer);
	return G_SOURCE_REMOVE;
}

/* Lock held. */
static void send_later(struct peer *peer, const void *data, size_t len)
{
	if (peer->unread + len > (peer->watcher ? WATCHER_UNREAD : UNREAD_MAX)) {
		if (!peer->hung_source)
			peer->hung_source = g_idle_add(end_hung, peer);
		return;
	}
	g_queue_push_tail(&peer->out, g_bytes_new(data, len));
	peer->unread += len;
	if (!peer->out_source)
		peer->out_source = g_unix_fd_add(peer->sock, G_IO_OUT, on_writable, peer);
}

/* Any thread. */
static void send_frame(void *arg, const struct migrate_frame *frame)
{
	struct peer *peer = arg;
	uint8_t small[512], *buf = small;
	size_t size = MIGRATE_FRAME_HEADER + frame->text_len;
	ssize_t len;

	if (size > sizeof small)
		buf = g_malloc(size);
	len = migrate_frame_encode(frame, buf, MAX(size, sizeof small));
	g_mutex_lock(&peer->lock);
	if (len > 0 && (!g_queue_is_empty(&peer->out) || send_bytes(peer, buf, len) == -EAGAIN))
		send_later(peer, buf, len);
	g_mutex_unlock(&peer->lock);
	if (buf != small)
		g_free(buf);
}

/* ---- what is received ---- */

static void warn_of_open_modes(const struct peer *peer)
{
	const struct volume_config *config = peer->retriever->config;

	if (peer->role == MIGRATE_ROLE_DOOR && config_descriptors_decide(config) &&
	    !config->acl_source)
		g_warning(
			"an NFS server exports %s, where smb-modes = open lets every NFS client "
			"do everything: end the export, or begin anew with smb-modes = descriptor",
			config->root);
}

static void take_role(struct peer *peer, enum migrate_role role)
{
	struct ucred cred = {0};
	socklen_t len = sizeof cred;
	struct trace_id id = {
		.peer = role_names[role],
		.background = role == MIGRATE_ROLE_CRAWLER || role == MIGRATE_ROLE_CONTROL,
	};

	getsockopt(peer->sock, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	id.pid = (uint32_t)cred.pid;
	peer->role = role;
	peer->requests = requests_new(peer->retriever, &id, send_frame, peer);
	if (role == MIGRATE_ROLE_CRAWLER)
		COUNT_ADD(peer->retriever, crawlers, 1);
	warn_of_open_modes(peer);
}

static void do_hello(struct peer *peer, const struct migrate_frame *frame)
{
	struct retriever *retriever = peer->retriever;
	struct migrate_frame reply = {.op = MIGRATE_OP_HELLO | MIGRATE_OP_REPLY, .id = frame->id};
	g_autofree char *name = g_strndup(frame->text, frame->text_len);

	if (strcmp(name, retriever->config->name) != 0 || frame->length < MIGRATE_ROLE_DOOR ||
	    frame->length > MIGRATE_ROLE_PLAIN_DOOR) {
		if (!peer->watcher) /* a peer that is not root cannot fill the log */
			g_warning("a peer asked for volume `%s`; this is `%s`", name,
				  retriever->config->name);
		reply.status = -EINVAL;
	} else {
		take_role(peer, frame->length);
		reply.length = retriever->config->hold_ms;
		reply.offset = volume_state(retriever) == VOLUME_FINISHED;
		if (config_descriptors_decide(retriever->config))
			reply.flags = MIGRATE_HELLO_DESCRIPTORS;
	}
	send_frame(peer, &reply);
}

/* Whether the frame's text is that word. */
static bool says(const struct migrate_frame *frame, const char *word)
{
	return frame->text_len == strlen(word) && !memcmp(frame->text, word, frame->text_len);
}

/* Only the frames named here are accepted. */
static gboolean handle_watcher(struct peer *peer, const struct migrate_frame *frame)
{
	static const char why[] = "only root may do this; members of the group " MONITOR_GROUP
				  " may ask for status and metrics";
	struct migrate_frame reply = {.op = frame->op | MIGRATE_OP_REPLY,
				      .id = frame->id,
				      .status = -EPERM,
				      .text = why,
				      .text_len = sizeof why - 1};

	if (frame->op == MIGRATE_OP_HELLO && !peer->role && frame->length == MIGRATE_ROLE_CONTROL) {
		do_hello(peer, frame);
		return peer->role != 0;
	}
	if (!peer->role)
		return FALSE;
	if (frame->op == MIGRATE_OP_CANCEL ||
	    (frame->op == MIGRATE_OP_CONTROL && says(frame, "status")))
		return requests_handle(peer->requests, frame, NULL, 0);
	if (frame->op != MIGRATE_OP_CONTROL)
		return FALSE;
	send_frame(peer, &reply);
	return TRUE;
}

/* FALSE: the peer does not keep to the protocol. */
static gboolean handle(struct peer *peer, const struct migrate_frame *frame, const int *fds,
		       size_t nfds)
{
	if (peer->watcher)
		return handle_watcher(peer, frame);
	if (frame->op == MIGRATE_OP_HELLO && !peer->role) {
		do_hello(peer, frame);
		return peer->role != 0;
	}
	return peer->role && requests_handle(peer->requests, frame, fds, nfds);
}

static void refuse_version(struct peer *peer, const struct migrate_frame *frame)
{
	struct migrate_frame reply = {
		.op = frame->op | MIGRATE_OP_REPLY, .id = frame->id, .status = -EPROTO};

	send_frame(peer, &reply);
}

static gboolean on_frame(gint sock, GIOCondition condition, gpointer arg)
{
	static uint8_t buf[MIGRATE_FRAME_MAX]; /* main thread only */
	struct peer *peer = arg;
	const unsigned most = peer->watcher ? 1 : FRAMES_AT_ONCE;
	gboolean keep = TRUE;

	for (unsigned i = 0; keep && i < most; i++) {
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
		for (size_t j = 0; nfds != MIGRATE_FDS_LOST && j < nfds; j++)
			close(fds[j]);
	}
	if (!keep) {
		peer->source = 0;
		peer_disconnect(peer);
	}
	return keep;
}

struct peer *peer_new(struct retriever *retriever, int sock, bool watcher,
		      void (*forget)(void *owner, struct peer *peer), void *owner)
{
	struct peer *peer = g_new0(struct peer, 1);

	peer->retriever = retriever;
	peer->forget = forget;
	peer->owner = owner;
	peer->sock = sock;
	peer->watcher = watcher;
	g_mutex_init(&peer->lock);
	g_queue_init(&peer->out);
	peer->source = g_unix_fd_add_full(watcher ? G_PRIORITY_LOW : G_PRIORITY_DEFAULT, sock,
					  G_IO_IN, on_frame, peer, NULL);
	return peer;
}

bool peer_is_watcher(const struct peer *peer)
{
	return peer->watcher;
}

static void remove_source(guint *source)
{
	if (*source)
		g_source_remove(*source);
	*source = 0;
}

void peer_disconnect(struct peer *peer)
{
	peer->forget(peer->owner, peer);
	if (peer->role == MIGRATE_ROLE_CRAWLER)
		COUNT_ADD(peer->retriever, crawlers, -1);
	if (peer->requests)
		requests_end(peer->requests); /* nothing is sent any more */
	remove_source(&peer->source);
	remove_source(&peer->out_source);
	remove_source(&peer->hung_source);
	close(peer->sock);
	g_queue_clear_full(&peer->out, (GDestroyNotify)g_bytes_unref);
	g_mutex_clear(&peer->lock);
	g_free(peer);
}
