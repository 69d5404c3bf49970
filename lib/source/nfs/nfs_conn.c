/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One connection: a thread, a queue, a window of calls under way.
 *
 * A request is always in exactly one place: the queue, `again` (to be sent anew), a slot (a call is
 * under way), or with its submitter; only the thread moves it on from the queue, so that it can
 * neither be lost nor completed twice.  When the connection fails, what is in slots goes back to
 * `again` in its old order: every request can be made twice.  What was in a slot each time goes to
 * the connection of trials (suspects.h).
 *
 * The only lock is the queue's (nfs_queue.h).
 */
#include "lib/source/nfs/nfs_conn.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "lib/source/nfs/nfs4_owner.h"
#include "lib/source/nfs/nfs_dialog.h"
#include "lib/source/nfs/nfs_net.h"
#include "lib/source/nfs/nfs_queue.h"
#include "lib/source/nfs/nfs_reach.h"
#include "lib/source/nfs/nfs_slots.h"

#define READ_BYTES     (16u << 20) /* of data asked for and not yet here */
#define BACKOFF_MIN    (50 * G_TIME_SPAN_MILLISECOND)
#define BACKOFF_MAX    (5 * G_TIME_SPAN_SECOND)
#define STALL_MAX      (600 * G_TIME_SPAN_SECOND)
#define STABLE	       (5 * G_TIME_SPAN_SECOND) /* a connection that lasted so long was good */
#define STARTING       (60 * G_TIME_SPAN_SECOND)
#define ASK_PORT_EVERY 4

G_STATIC_ASSERT(NFS_SLOTS <= NFS_GSS_CALLS);

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_PROBING, CONN_UP };

struct nfs_conn {
	struct nfs_server *server;
	struct nfs_service *service;
	struct nfs_conn *trial; /* the connection that tries requests; NULL: this one is */
	struct nfs_dialog dialog;
	pthread_t thread;
	atomic_uint load;
	atomic_uint waited_for; /* requests that are not background, in the queue or under way */

	struct nfs_queue queue;

	/* The thread's own from here on. */
	enum conn_state state;
	struct nfs_link link;
	size_t address; /* index of the server's address that is tried */
	struct rpc_auth auth;
	bool at_once;
	bool unhurried; /* constant */
	GQueue again;
	struct nfs_slots slots;
	unsigned window;
	struct rpc_stream stream;
	uint8_t *tx;
	size_t tx_start, tx_end, tx_size;
	struct backend_request probe; /* of a new connection, to renew a lease, for an fsid */
	bool probing;		      /* the probe is under way */
	GHashTable *asked;	      /* what it tells of (nfs_systems.h), or NULL */
	gint64 used;		      /* when a call was made last */
	struct trial trying;
	bool answered; /* on this connection */
	unsigned turns;
	gint64 state_since, down_since, retry_at, backoff, stall, stall_checked;
	unsigned failures;
};

static unsigned request_weight(const struct backend_request *req)
{
	return req->op == BACKEND_READ	    ? 1 + req->count / 16384
	       : req->op == BACKEND_READDIR ? 16
					    : 1;
}

static void leave_connection(struct nfs_conn *conn, struct backend_request *req)
{
	nfs_dialog_end(&conn->dialog, req);
	atomic_fetch_sub(&conn->load, request_weight(req));
	atomic_fetch_sub(&conn->waited_for, backend_is_waited_for(req));
	backend_watch_end(&conn->server->watch);
}

/* The status of a request about an object whose owner is not known. */
static int with_owner(struct backend_request *req, int status)
{
	if (status == 0 && req->has_attr &&
	    (req->op == BACKEND_LOOKUP || req->op == BACKEND_GETATTR))
		return nfs4_owner_status(req);
	return status == -EHOSTDOWN && req->attempts < NFS4_OWNER_TRIES ? -EAGAIN : status;
}

static void complete_request(struct nfs_conn *conn, struct backend_request *req, int status)
{
	if (req == &conn->trying.witness) {
		nfs_dialog_end(&conn->dialog, req);
	} else if (req != &conn->probe) {
		leave_connection(conn, req);
		status = with_owner(req, status);
	}
	backend_complete(req, status);
}

static void enqueue(struct nfs_conn *conn, struct backend_request *req)
{
	backend_prepare(req);
	req->backend.data = NULL;
	req->backend.submitted = g_get_monotonic_time();
	backend_watch_begin(&conn->server->watch);
	atomic_fetch_add(&conn->load, request_weight(req));
	atomic_fetch_add(&conn->waited_for, backend_is_waited_for(req));
	if (!nfs_queue_add(&conn->queue, req))
		complete_request(conn, req, -ECANCELED);
}

void nfs_conn_submit(struct nfs_conn *conn, struct backend_request *req)
{
	suspects_recall(&conn->server->suspects, req);
	enqueue(conn->trial && req->backend.breaks >= SUSPECT_ALONE ? conn->trial : conn, req);
}

unsigned nfs_conn_load(struct nfs_conn *conn)
{
	return atomic_load_explicit(&conn->load, memory_order_relaxed);
}

/* ---- calls ---- */

static void send_call(struct nfs_conn *conn, struct backend_request *req)
{
	unsigned index = nfs_slots_add(&conn->slots, req);
	struct nfs_slot *slot = &conn->slots.slots[index];
	struct xdr_out out;

	if (conn->tx_size - conn->tx_end < RPC_CALL_MAX) {
		memmove(conn->tx, conn->tx + conn->tx_start, conn->tx_end - conn->tx_start);
		conn->tx_end -= conn->tx_start;
		conn->tx_start = 0;
	}
	out = (struct xdr_out){.p = conn->tx + conn->tx_end, .end = conn->tx + conn->tx_size};
	slot->procedure = nfs_dialog_encode(&conn->dialog, req, index, slot->xid, &out);
	conn->tx_end = (size_t)(out.p - conn->tx);
	conn->used = slot->sent;
	trace_request(TRACE_SENT, req, slot->xid, 0);
}

/* conn->probe is filled in. */
static void send_probe(struct nfs_conn *conn)
{
	conn->probing = true;
	if (nfs_dialog_tells_fsids(&conn->dialog, &conn->probe))
		conn->asked = nfs_systems_ask(conn->server->view.systems);
	send_call(conn, &conn->probe);
}

static bool fits_window(const struct nfs_conn *conn, const struct backend_request *req)
{
	if (conn->tx_size - (conn->tx_end - conn->tx_start) < RPC_CALL_MAX)
		return false;
	if (conn->slots.in_flight == 0)
		return true;
	if (conn->slots.in_flight >= conn->window ||
	    (conn->auth.gss && !nfs_gss_has_room(conn->auth.gss)))
		return false;
	return req->op != BACKEND_READ || conn->slots.bytes + req->count <= READ_BYTES;
}

/* FALSE: req needs no witness, or no more. */
static bool call_witness(struct nfs_conn *conn, struct backend_request *req)
{
	const struct nfs_handle *top = &conn->server->view.root;
	struct source_object root = {.path = (char *)"", .handle_len = top->len};
	struct backend_request *witness;
	int status;

	memcpy(root.handle, top->bytes, top->len);
	witness = conn->trial || req == &conn->trying.witness /* its second call */
			  ? NULL
			  : trial_witness(&conn->trying, req, &root);
	if (!witness)
		return false;
	g_queue_push_head_link(&conn->again, &req->link);
	status = nfs_dialog_begin(&conn->dialog, witness);
	if (status < 0)
		complete_request(conn, witness, status);
	else
		send_call(conn, witness);
	return true;
}

static void go_on(struct nfs_conn *conn, struct backend_request *req, int status)
{
	if (status < 0)
		complete_request(conn, req, status);
	else if (!call_witness(conn, req))
		send_call(conn, req);
}

/* Trials take long: there demand and background take turns. */
static bool prefers_background(const struct nfs_conn *conn)
{
	return !conn->trial && conn->turns % 2;
}

static void fill_window(struct nfs_conn *conn)
{
	struct backend_request *req;

	while (conn->again.head && fits_window(conn, conn->again.head->data))
		go_on(conn, g_queue_pop_head_link(&conn->again)->data,
		      nfs_dialog_status(&conn->dialog));
	while (!conn->again.head) {
		req = nfs_queue_first(&conn->queue, prefers_background(conn));
		if (!req || !fits_window(conn, req))
			return;
		nfs_queue_take(&conn->queue, req);
		conn->turns++;
		go_on(conn, req, nfs_dialog_begin(&conn->dialog, req));
	}
}

/* ---- the connection's states ---- */

static void enter_state(struct nfs_conn *conn, enum conn_state state)
{
	conn->state = state;
	conn->state_since = g_get_monotonic_time();
}

/* Makes req again, as the connection ended under it, which counts so much against req
 * (suspects.h). */
static void ask_again(struct nfs_conn *conn, struct backend_request *req, unsigned count)
{
	if (req == &conn->trying.witness) {
		complete_request(conn, req, -ECANCELED);
	} else if (count && suspects_break(&conn->server->suspects, req, count, !conn->trial)) {
		complete_request(conn, req, -EREMOTEIO);
	} else if (count && req->backend.breaks >= SUSPECT_ALONE) {
		leave_connection(conn, req);
		backend_forget(req);
		enqueue(conn->trial ? conn->trial : conn, req);
	} else {
		g_queue_push_head_link(&conn->again, &req->link);
	}
}

/* The connection is of no use (any more); broken: it ended by itself, with what was under way. */
static void end_connection(struct nfs_conn *conn, bool broken)
{
	gint64 now = g_get_monotonic_time();
	GQueue under_way = G_QUEUE_INIT;
	GList *link;

	nfs_link_close(&conn->link);
	nfs_slots_reset(&conn->slots, &under_way, &conn->probe);
	nfs_dialog_end(&conn->dialog, &conn->probe);
	conn->probing = false;
	g_clear_pointer(&conn->asked, g_hash_table_unref);
	while ((link = g_queue_pop_tail_link(&under_way)))
		ask_again(conn, link->data, broken);
	conn->tx_start = conn->tx_end = 0;
	rpc_stream_reset(&conn->stream);
	if (conn->state == CONN_UP) {
		conn->down_since = now;
		/* what is tried may be asked for again and again */
		if (now - conn->state_since >= STABLE || (conn->trial && conn->answered))
			conn->backoff = 0;
	} else {
		conn->failures++;
	}
	conn->backoff = CLAMP(conn->backoff * 2, BACKOFF_MIN, BACKOFF_MAX);
	conn->retry_at = now + conn->backoff;
	enter_state(conn, CONN_DOWN);
}

static void drop_connection(struct nfs_conn *conn)
{
	end_connection(conn, false);
}

static void start_connecting(struct nfs_conn *conn)
{
	struct nfs_server *server = conn->server;

	if (conn->failures > 0 && conn->failures % ASK_PORT_EVERY == 0)
		nfs_reach_ask_port(server, conn->service, conn->queue.wake_fd);
	conn->at_once = false;
	nfs_reach_end_context(server, conn->service, conn->address, &conn->auth.gss);
	conn->address = (atomic_load(&server->address) + conn->failures) % server->n_addresses;
	if (nfs_reach_connect(server, conn->service, conn->address, conn->queue.wake_fd,
			      &conn->link, &conn->auth.gss))
		enter_state(conn, CONN_CONNECTING);
	else
		drop_connection(conn);
}

/* FALSE: the root's fsid is wanted, and the answer to it is not here yet. */
static bool told_root(struct nfs_conn *conn)
{
	const struct backend_request *probe = &conn->probe;
	g_autoptr(GHashTable) asked = g_steal_pointer(&conn->asked);

	conn->probing = false;
	if (!asked)
		return true;
	if (probe->status ? probe->status != -EAGAIN : probe->has_attr)
		nfs_systems_believe(conn->server->view.systems, asked);
	return probe->status != -EAGAIN || g_hash_table_size(asked) == 0;
}

/*
 * A server answers for the root before it gets anything else to do.  ESTALE for the root, or ENOENT
 * where the root is looked for by its path, means that the server's exports are not there yet;
 * after a minute that status is believed.
 */
static void probe_done(struct backend_request *probe)
{
	struct nfs_conn *conn = probe->user;
	gint64 now = g_get_monotonic_time();

	if (!told_root(conn) || !nfs_dialog_started(&conn->dialog, probe) ||
	    ((probe->status == -ESTALE || probe->status == -ENOENT) &&
	     now - conn->down_since < STARTING)) {
		drop_connection(conn);
		return;
	}
	conn->window = nfs_dialog_window(&conn->dialog, conn->window);
	if (!conn->trial)
		conn->window = 1;
	trial_begin(&conn->trying);
	conn->answered = false;
	conn->failures = 0;
	atomic_store(&conn->server->address, conn->address);
	nfs_complaint_say(&conn->server->complaint, conn->server->url.text, NULL);
	enter_state(conn, CONN_UP);
}

static void probe_server(struct nfs_conn *conn)
{
	struct nfs_server *server = conn->server;

	int ret = nfs_socket_error(conn->link.fd, server->elsewhere);
	if (ret == -ELOOP)
		nfs_complaint_say(&server->complaint, server->url.text, NFS_MYSELF);
	if (ret < 0) {
		drop_connection(conn);
		return;
	}
	conn->window = MIN(nfs_window(conn->link.fd, server->window), NFS_SLOTS);
	if (conn->auth.gss)
		conn->window = MIN(conn->window, nfs_gss_window(conn->auth.gss));
	enter_state(conn, CONN_PROBING);
	conn->probe = (struct backend_request){.done = probe_done, .user = conn};
	nfs_dialog_start(&conn->dialog, &conn->probe);
	send_probe(conn);
}

/*
 * The answer shows a new fsid: the request is made again after the root was asked for its own fsid,
 * and everything else of the connection waits for that.  An answer about the root that is on its
 * way already may be older, and does not make the new fsid believed.
 */
static int doubt(struct nfs_conn *conn, struct backend_request *req, uint64_t cookie, uint64_t verf)
{
	backend_forget(req);
	req->cookie = cookie;
	req->verf = verf;
	if (!conn->probing) {
		conn->down_since = g_get_monotonic_time(); /* what the root says is new */
		enter_state(conn, CONN_PROBING);
		nfs_dialog_renew(&conn->dialog, &conn->probe);
		send_probe(conn);
	}
	return NFS_CALL_AGAIN;
}

static int decode_reply(struct nfs_conn *conn, struct backend_request *req, unsigned index,
			enum nfs_procedure procedure, int rpc, struct xdr_in *in)
{
	struct nfs_systems *systems = conn->server->view.systems;
	const unsigned doubts = nfs_systems_doubts(systems);
	const uint64_t cookie = req->cookie, verf = req->verf;
	int status = nfs_dialog_decode(&conn->dialog, req, index, procedure, rpc, in);

	return status == 0 && req != &conn->probe && nfs_systems_doubts(systems) != doubts &&
			       nfs_dialog_tells_fsids(&conn->dialog, req)
		       ? doubt(conn, req, cookie, verf)
		       : status;
}

static void take_reply(struct nfs_conn *conn, unsigned index, int rpc, struct xdr_in *in)
{
	enum nfs_procedure procedure = conn->slots.slots[index].procedure;
	uint32_t xid = conn->slots.slots[index].xid;
	struct backend_request *req = nfs_slots_take(&conn->slots, index);
	int status = rpc_is_stranger(rpc) ? NFS_CALL_RESET
					  : decode_reply(conn, req, index, procedure, rpc, in);

	trace_request(TRACE_REPLY, req, xid, MIN(status, 0));
	if (req != &conn->probe && status <= 0) {
		suspects_answered(&conn->server->suspects, req, status, g_get_monotonic_time());
		conn->trying.proved[req->op] = conn->answered = true;
	}
	if (req == &conn->probe && status == NFS_CALL_AGAIN)
		send_call(conn, req);
	else if (req != &conn->probe && (status == NFS_CALL_AGAIN || status == NFS_CALL_RESET))
		g_queue_push_head_link(&conn->again, &req->link);
	else if (status != NFS_CALL_RESET)
		complete_request(conn, req, status);
	if (status == NFS_CALL_RESET)
		drop_connection(conn);
}

static void receive_replies(struct nfs_conn *conn)
{
	struct xdr_in record;
	size_t room;
	uint8_t *at = rpc_stream_room(&conn->stream, &room);
	ssize_t n = nfs_link_receive(&conn->link, at, room);
	struct rpc_reply reply;
	int ret;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		nfs_reach_ended(conn->server, &conn->link, n < 0 ? errno : 0);
		end_connection(conn, true);
		return;
	}
	rpc_stream_received(&conn->stream, (size_t)n);
	backend_watch_answer(&conn->server->watch, g_get_monotonic_time());
	while (conn->link.fd >= 0 && (ret = rpc_stream_next(&conn->stream, &record)) != 0) {
		int rpc = ret < 0 ? -EBADMSG : rpc_reply_begin(&record, &reply);
		int index;

		if (ret < 0)
			reply = (struct rpc_reply){.xid = xdr_get_u32(&record)};
		index = nfs_slots_find(&conn->slots, reply.xid);
		if (index >= 0)
			take_reply(conn, index, rpc_reply_open(&conn->auth, &reply, rpc, &record),
				   &record);
		if (ret < 0 && conn->link.fd >= 0)
			end_connection(conn, true);
	}
}

static void send_calls(struct nfs_conn *conn)
{
	ssize_t n;

	while (conn->tx_start < conn->tx_end) {
		n = nfs_link_send(&conn->link, conn->tx + conn->tx_start,
				  conn->tx_end - conn->tx_start);
		if (n >= 0) {
			conn->tx_start += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			end_connection(conn, true);
			return;
		}
	}
	conn->tx_start = conn->tx_end = 0;
}

/* A request that waits for longer than limit counts as a suspect, and goes to the trials at once
 * where other requests are answered.
 */
static void take_stalled(struct nfs_conn *conn, gint64 now, gint64 limit)
{
	gint64 answered = now - atomic_load(&conn->server->watch.answered);

	for (unsigned i = 0; i < NFS_SLOTS; i++) {
		const struct nfs_slot *slot = &conn->slots.slots[i];

		if (slot->req && slot->req != &conn->probe && now - slot->sent >= limit)
			ask_again(conn, nfs_slots_take(&conn->slots, i),
				  answered < limit / 2 ? SUSPECT_ALONE : 1);
	}
}

/* A server keeps a connection and does not answer: the requests are made again on another
 * connection, each time more patiently.
 */
static void check_stall(struct nfs_conn *conn)
{
	gint64 now = g_get_monotonic_time(), limit = conn->stall;

	if (conn->slots.in_flight == 0 || limit == 0)
		limit = conn->stall = (gint64)atomic_load(&conn->server->stall_ms) * 1000;
	if (now - conn->stall_checked < limit / 8)
		return;
	conn->stall_checked = now;
	if (now - nfs_slots_oldest(&conn->slots, now) >= limit) {
		conn->stall = MIN(limit * 2, STALL_MAX);
		take_stalled(conn, now, limit);
		drop_connection(conn);
	}
}

/* ---- the thread ---- */

enum prospect { PROSPECT_STOP, PROSPECT_READY, PROSPECT_BUSY, PROSPECT_IDLE };

static enum prospect look_ahead(struct nfs_conn *conn)
{
	struct backend_request *next;

	if (nfs_queue_stops(&conn->queue, prefers_background(conn), &next))
		return PROSPECT_STOP;
	if (conn->again.head)
		next = conn->again.head->data;
	if (next && conn->state == CONN_UP && fits_window(conn, next))
		return PROSPECT_READY;
	return next || conn->slots.in_flight ? PROSPECT_BUSY : PROSPECT_IDLE;
}

/* Milliseconds until an idle session has to be renewed; -1: it need not be. */
static int lease_ms(const struct nfs_conn *conn)
{
	gint64 lease = nfs_dialog_lease(&conn->dialog), left;

	if (lease == 0 || conn->state != CONN_UP)
		return -1;
	left = conn->used + lease - g_get_monotonic_time();
	return left <= 0 ? 0 : (int)MIN(left / 1000 + 1, G_MAXINT);
}

static void renew_lease(struct nfs_conn *conn)
{
	if (conn->slots.in_flight > 0 || lease_ms(conn) != 0)
		return;
	nfs_dialog_renew(&conn->dialog, &conn->probe);
	send_probe(conn);
}

static int sleep_ms(struct nfs_conn *conn, enum prospect prospect)
{
	gint64 left;

	if (prospect == PROSPECT_READY)
		return 0;
	switch (conn->state) {
	case CONN_DOWN:
		if (prospect == PROSPECT_IDLE && !conn->at_once)
			return -1;
		left = conn->retry_at - g_get_monotonic_time();
		return left <= 0 ? 0 : (int)(left / 1000 + 1);
	case CONN_CONNECTING:
		left = conn->state_since + NFS_REACH_SECONDS * G_USEC_PER_SEC -
		       g_get_monotonic_time();
		return left <= 0 ? 0 : (int)(left / 1000 + 1);
	default:
		return conn->slots.in_flight > 0 ? (int)CLAMP(conn->stall / 4000, 10, 1000)
						 : lease_ms(conn);
	}
}

static void handle_events(struct nfs_conn *conn, short events)
{
	if (events == 0)
		return;
	if (conn->state == CONN_CONNECTING)
		probe_server(conn);
	else if (events & (POLLIN | POLLERR | POLLHUP))
		do
			receive_replies(conn);
		while (nfs_link_holds(&conn->link));
}

static void handle_time(struct nfs_conn *conn, enum prospect prospect)
{
	gint64 now = g_get_monotonic_time();

	switch (conn->state) {
	case CONN_DOWN:
		if ((prospect != PROSPECT_IDLE || conn->at_once) && now >= conn->retry_at)
			start_connecting(conn);
		break;
	case CONN_CONNECTING:
		if (now - conn->state_since >= NFS_REACH_SECONDS * G_USEC_PER_SEC)
			drop_connection(conn);
		break;
	default:
		check_stall(conn);
		if (conn->auth.gss && nfs_gss_is_worn(conn->auth.gss, now))
			drop_connection(conn);
		else
			renew_lease(conn);
	}
}

static void poll_once(struct nfs_conn *conn, enum prospect prospect)
{
	struct pollfd polled[2] = {{.fd = conn->queue.wake_fd, .events = POLLIN},
				   {.fd = conn->link.fd, .events = POLLIN}};
	uint64_t count;

	if (conn->state == CONN_CONNECTING)
		polled[1].events = POLLOUT;
	else if (conn->tx_start < conn->tx_end)
		polled[1].events |= POLLOUT;
	if (poll(polled, 2, sleep_ms(conn, prospect)) < 0)
		return;
	if (polled[0].revents && read(conn->queue.wake_fd, &count, sizeof(count)) < 0 &&
	    errno != EAGAIN)
		g_warning("eventfd: %s", g_strerror(errno));
	if (conn->link.fd >= 0)
		handle_events(conn, polled[1].revents);
}

static void cancel_all(struct nfs_conn *conn)
{
	struct backend_request *req;

	if (conn->link.fd >= 0)
		drop_connection(conn);
	while (conn->again.head)
		complete_request(conn, g_queue_pop_head_link(&conn->again)->data, -ECANCELED);
	while ((req = nfs_queue_end(&conn->queue)))
		complete_request(conn, req, -ECANCELED);
}

static void *conn_thread(void *user)
{
	struct nfs_conn *conn = user;
	enum prospect prospect;

	while ((prospect = look_ahead(conn)) != PROSPECT_STOP) {
		if (conn->unhurried)
			thread_unhurried(!atomic_load(&conn->waited_for));
		poll_once(conn, prospect);
		handle_time(conn, prospect);
		if (conn->state == CONN_UP)
			fill_window(conn);
		if (conn->state >= CONN_PROBING)
			send_calls(conn);
	}
	cancel_all(conn);
	nfs_reach_end_context(conn->server, conn->service, conn->address, &conn->auth.gss);
	return NULL;
}

void nfs_conn_free(struct nfs_conn *conn)
{
	nfs_queue_clear(&conn->queue);
	rpc_stream_clear(&conn->stream);
	g_free(conn->tx);
	nfs_dialog_clear(&conn->dialog);
	g_free(conn);
}

struct nfs_conn *nfs_conn_new(struct nfs_server *server, struct nfs_service *service, bool at_once,
			      bool unhurried)
{
	struct nfs_conn *conn = g_new0(struct nfs_conn, 1);

	conn->server = server;
	conn->service = service;
	conn->trial = service->trial;
	conn->trying.suspects = &server->suspects;
	conn->auth = server->auth;
	nfs_dialog_init(&conn->dialog, &server->view, &conn->auth, service->probe,
			service->version == 4);
	conn->link.fd = -1;
	conn->at_once = at_once;
	conn->unhurried = unhurried;
	conn->down_since = g_get_monotonic_time();
	nfs_slots_init(&conn->slots, g_random_int());
	rpc_stream_init(&conn->stream);
	conn->tx_size = (size_t)(NFS_SLOTS + 1) * RPC_CALL_MAX;
	conn->tx = g_malloc(conn->tx_size);
	if (nfs_queue_init(&conn->queue) &&
	    pthread_create(&conn->thread, NULL, conn_thread, conn) == 0)
		return conn;
	nfs_conn_free(conn);
	return NULL;
}

void nfs_conn_stop(struct nfs_conn *conn)
{
	nfs_queue_stop(&conn->queue);
}

void nfs_conn_join(struct nfs_conn *conn)
{
	pthread_join(conn->thread, NULL);
}
