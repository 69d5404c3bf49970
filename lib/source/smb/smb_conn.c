/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection is a thread that keeps a worker running, hands it requests of its pool, and
 * completes what is answered.  A worker that ends, for any reason, is started again.  Requests that
 * were under way together are made again at once, on another connection, one at a time; a request
 * that was alone when its connection ended is tried (SMB_TRIAL, suspects.h) at leisure.
 */
#include "lib/source/smb/smb_conn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "lib/source/smb/smb_reply.h"
#include "lib/source/smb/smb_worker.h"

#define HELLO_MS     90000
#define SILENT_MS    1000
#define PAUSE_MIN    100
#define PAUSE_MAX    5000
#define TURN_POLL_MS 20
#define HANG_UPS     3 /* so many are no accident: perhaps the server does not speak SMB 2 */
#define BYTES_MAX    (8u * 1024 * 1024) /* of READs under way */
#define IDLE_MS	     30000
#define BUSY_TRIES   6 /* of a file that somebody there has open alone: 3 seconds */

#define SHARING_VIOLATION  0xc0000043u
#define FILE_LOCK_CONFLICT 0xc0000054u

struct under_way {
	struct backend_request *req;
	uint32_t serial;
};

struct smb_conn {
	struct smb_seat seat; /* first */
	struct smb_server *server;
	pthread_t thread;
	/* the thread's own */
	struct smb_worker worker;
	bool ready;
	bool turn; /* it is this connection's turn to try: no other may meanwhile */
	uint32_t generation, serial; /* of the worker, of requests */
	struct under_way under_way[WIRE_SLOTS];
	uint8_t free[WIRE_SLOTS];
	unsigned n, bytes; /* under way */
	bool alone;	   /* nothing may join what is under way */
	gint64 heard;
	unsigned pause, stall_ms;
	unsigned hung_up; /* in a row, when it was asked for its version */
	char *said;	  /* the failure that was logged last */
	struct trial trying;
	bool idle;   /* the connection is not needed any more */
	bool proves; /* something was answered on the last connection */
};

#define MS G_TIME_SPAN_MILLISECOND

static bool is_trial(const struct smb_conn *conn)
{
	return conn->seat.pool->kind == SMB_TRIAL;
}

static bool is_needed(struct smb_conn *conn)
{
	return !conn->seat.spare || smb_pool_wanted(conn->seat.pool) ||
	       smb_pool_has_bound(&conn->seat) ||
	       (is_trial(conn) && smb_pool_has_work(&conn->seat));
}

static void complete_request(struct smb_server *server, struct backend_request *req, int status)
{
	backend_watch_end(&server->watch);
	backend_complete(req, status);
}

/* ---- what is told to open() and to the log ---- */

static void tell_failure(struct smb_conn *conn, char *text, bool final)
{
	struct smb_server *server = conn->server;
	bool known;

	pthread_mutex_lock(&server->lock);
	known = server->known;
	g_free(server->last);
	server->last = g_strdup(text);
	if (final && !server->final)
		server->final = g_strdup(text);
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
	if (known && g_strcmp0(conn->said, text) != 0)
		g_warning("%s", text);
	g_free(conn->said);
	conn->said = text;
}

static void take_failure(struct smb_conn *conn, const struct wire_reply *reply)
{
	struct smb_server *server = conn->server;
	bool final = !conn->ready && smb_failure_is_final(reply);

	if (reply->status == WIRE_F_NEGOTIATE)
		final = ++conn->hung_up >= HANG_UPS;
	smb_turns_failed(&server->turns,
			 reply->status == WIRE_F_LOGON || reply->status == WIRE_F_GUEST);
	pthread_mutex_lock(&server->lock);
	server->locks |= final && smb_failure_locks(reply);
	server->lacks_share |= final && smb_failure_lacks_share(reply);
	pthread_mutex_unlock(&server->lock);
	tell_failure(conn, smb_failure_text(&server->url, reply), final);
}

static void worker_connected(struct smb_conn *conn, const struct wire_reply *hello)
{
	struct smb_server *server = conn->server;

	conn->ready = true;
	smb_pool_ready(&conn->seat, true);
	smb_turns_connected(&server->turns, conn->turn);
	conn->turn = false;
	conn->pause = PAUSE_MIN;
	conn->hung_up = 0;
	if (conn->said && conn->server->known)
		g_message("%s: connected again", server->url.text);
	g_clear_pointer(&conn->said, g_free);
	pthread_mutex_lock(&server->lock);
	if (!server->known) {
		server->root = hello->attr;
		server->max_read = CLAMP(hello->len, 4096, WIRE_READ_MAX);
		server->clock = (int64_t)hello->cookie;
		server->known = true;
	}
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

static void worker_ended(struct smb_conn *conn)
{
	smb_turns_ended(&conn->server->turns, conn->seat.pool->kind, conn->ready, conn->turn,
			conn->idle);
	conn->ready = false;
	smb_pool_ready(&conn->seat, false);
}

/* ---- taking requests ---- */

static void note_request(struct smb_conn *conn, struct backend_request *req, unsigned slot)
{
	conn->under_way[slot] = (struct under_way){req, ++conn->serial};
	conn->n++;
	conn->alone = req->backend.breaks;
	if (req->op == BACKEND_READ)
		conn->bytes += MIN(req->count, WIRE_READ_MAX);
}

static struct backend_request *forget_request(struct smb_conn *conn, unsigned slot)
{
	struct backend_request *req = conn->under_way[slot].req;

	conn->under_way[slot].req = NULL;
	conn->n--;
	if (req->op == BACKEND_READ)
		conn->bytes -= MIN(req->count, WIRE_READ_MAX);
	return req;
}

static uint32_t wire_op(enum backend_op op)
{
	static const uint32_t ops[] = {
		[BACKEND_GETATTR] = WIRE_GETATTR,   [BACKEND_LOOKUP] = WIRE_LOOKUP,
		[BACKEND_READDIR] = WIRE_READDIR,   [BACKEND_READ] = WIRE_READ,
		[BACKEND_READLINK] = WIRE_READLINK, [BACKEND_XATTRS] = WIRE_XATTRS,
	};

	return ops[op];
}

/* Path and name, one after the other without the slash; their lengths to out. */
static void put_path(uint8_t *memory, const char *path, const char *name, struct wire_request *out)
{
	out->path_len = (uint32_t)strlen(path);
	memcpy(memory, path, out->path_len);
	out->name_len = name ? (uint32_t)strlen(name) : 0;
	if (name)
		memcpy(memory + out->path_len, name, out->name_len);
}

/* Only LOOKUP sees to it that the attributes are those of the object with exactly this spelling. */
static void put_exactly(uint8_t *memory, const char *path, struct wire_request *out)
{
	const char *slash = strrchr(path, '/');
	g_autofree char *parent = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");

	out->op = WIRE_LOOKUP;
	put_path(memory, parent, slash ? slash + 1 : path, out);
}

/* Puts the request into a slot.  FALSE: it cannot be made, and *status says why. */
static bool encode_request(struct smb_conn *conn, struct backend_request *req,
			   struct wire_request *out, int *status)
{
	uint8_t slot = conn->free[conn->n], *memory;

	*status = -EBADMSG; /* the listing was an earlier worker's: it begins again */
	if (req->op == BACKEND_READDIR && req->cookie &&
	    req->verf != smb_pool_verf(&conn->seat, conn->generation))
		return false;
	memory = conn->worker.memory + (size_t)slot * WIRE_SLOT_BYTES;
	note_request(conn, req, slot);
	trace_request(TRACE_SENT, req, slot, 0);
	*out = (struct wire_request){
		.slot = slot,
		.serial = conn->serial,
		.op = wire_op(req->op),
		.count = MIN(req->count, WIRE_READ_MAX),
		.holes = req->holes,
		.offset = req->offset,
		.cookie = req->cookie,
	};
	if (req->op == BACKEND_GETATTR && *req->object.path)
		put_exactly(memory, req->object.path, out);
	else
		put_path(memory, req->object.path, req->op == BACKEND_LOOKUP ? req->name : NULL,
			 out);
	return true;
}

/* FALSE: some of the requests could not be made. */
static bool encode_all(struct smb_conn *conn, GQueue *taken, struct wire_request *requests,
		       unsigned *n)
{
	bool all = true;
	GList *link;
	int status;

	while ((link = g_queue_pop_head_link(taken))) {
		if (encode_request(conn, link->data, &requests[*n], &status)) {
			++*n;
			continue;
		}
		complete_request(conn->server, link->data, status);
		all = false;
	}
	return all;
}

/* While one request at a time is made, a witness, a request of the same kind for another object,
 * comes first: a request that ends a connection which has answered the witness is to blame. */
static void call_witness(struct smb_conn *conn, GQueue *taken)
{
	static const struct source_object root = {.path = (char *)""};
	const struct backend_request *req = g_queue_peek_head(taken);
	struct backend_request *witness = req && !conn->n && smb_pool_width(conn->seat.pool) == 1
						  ? trial_witness(&conn->trying, req, &root)
						  : NULL;

	if (!witness)
		return;
	smb_pool_give_back(&conn->seat, taken);
	backend_watch_begin(&conn->server->watch);
	g_queue_push_tail_link(taken, &witness->link);
}

/* While the server is silent on this connection, no other request is to wait for it. */
static bool notes_silence(struct smb_conn *conn)
{
	bool silent = conn->n && g_get_monotonic_time() - conn->heard > SILENT_MS * MS;

	if (conn->seat.ready == silent) {
		smb_pool_ready(&conn->seat, !silent);
		if (silent)
			smb_pool_want(conn->server->demand);
	}
	return silent;
}

/* Sends as many requests as there is room for.  FALSE: the worker is gone. */
static bool send_requests(struct smb_conn *conn)
{
	struct wire_request requests[WIRE_SLOTS];
	GQueue taken = G_QUEUE_INIT;
	unsigned n = 0;

	if (!conn->ready || notes_silence(conn) || (conn->n && conn->alone))
		return true;
	/* an answer of a while ago proves nothing now */
	if (!conn->n && g_get_monotonic_time() - conn->heard > SILENT_MS * MS)
		trial_begin(&conn->trying);
	do {
		smb_pool_take(&conn->seat, conn->seat.pool->window - conn->n,
			      BYTES_MAX - MIN(conn->bytes, BYTES_MAX), &taken);
		call_witness(conn, &taken);
	} while (!encode_all(conn, &taken, requests, &n));
	if (!n)
		return true;
	if (conn->n == n)
		conn->heard = g_get_monotonic_time();
	return send(conn->worker.sock, requests, n * sizeof(requests[0]), MSG_NOSIGNAL) ==
	       (ssize_t)(n * sizeof(requests[0]));
}

/* ---- answers ---- */

static int by_age(const void *a, const void *b, void *user)
{
	const struct under_way *x = a, *y = b;

	return x->serial > y->serial ? 1 : -1;
}

void smb_conn_try(struct smb_server *server, struct backend_request *req)
{
	/* a client that waits here would hold up others that want something else in the
	 * directory */
	req->at_leisure = req->priority == BACKEND_DEMAND &&
			  (smb_pool_starves(server->trial) ||
			   (smb_turns_lost_many(&server->turns, SMB_TRIAL) &&
			    !smb_pool_has_ready(server->trial)));
	if (req->at_leisure)
		complete_request(server, req, -EAGAIN);
	else if (!smb_pool_submit(server->trial, req))
		complete_request(server, req, -ECANCELED);
}

/* Puts the request where it is made again: into `again`, to be made alone, or into the trials if it
 * was alone.  lone: it was. */
static void requeue_request(struct smb_conn *conn, struct backend_request *req, bool lone,
			    GQueue *again)
{
	struct smb_server *server = conn->server;
	/* with others under way it may be innocent, however often this happens */
	unsigned count = smb_pool_stopped(conn->seat.pool) ? 0
			 : lone				   ? SUSPECT_ALONE
							   : !req->backend.breaks;

	if (req == &conn->trying.witness)
		complete_request(server, req, -ECANCELED);
	else if (suspects_break(&server->suspects, req, count,
				is_trial(conn) && conn->trying.proved[req->op]))
		complete_request(server, req, -EREMOTEIO);
	else if (req->backend.breaks < SUSPECT_ALONE || (req->op == BACKEND_READDIR && req->cookie))
		g_queue_push_tail_link(again, &req->link);
	else
		smb_conn_try(server, req);
}

/* A worker that does not even say that it waits. */
static bool is_hung(const struct smb_conn *conn)
{
	gint64 silent = (g_get_monotonic_time() - conn->heard) / 1000;

	if (!conn->ready)
		return silent > HELLO_MS;
	return conn->n && silent > (gint64)conn->stall_ms * 2;
}

static void give_back(struct smb_conn *conn)
{
	const bool lone = conn->n == 1;
	struct under_way list[WIRE_SLOTS];
	GQueue again = G_QUEUE_INIT;
	unsigned n = 0;

	for (unsigned i = 0; i < WIRE_SLOTS; i++) {
		if (!conn->under_way[i].req)
			continue;
		list[n++] = conn->under_way[i];
		forget_request(conn, i);
	}
	smb_pool_lost(conn->seat.pool);
	smb_pool_want(conn->server->trial);
	if (!is_trial(conn))
		smb_pool_want(conn->server->demand);
	if (conn->proves && conn->seat.pool->kind == SMB_DEMAND)
		smb_turns_forgive(&conn->server->turns, SMB_DEMAND);
	g_qsort_with_data(list, (gint)n, sizeof(list[0]), by_age, NULL);
	for (unsigned i = 0; i < n; i++)
		requeue_request(conn, list[i].req, lone, &again);
	smb_pool_give_back(&conn->seat, &again);
}

/* Somebody there has the file open alone: it may be free soon, but the crawler must not wait for
 * ever. */
static int limit_patience(const struct wire_reply *reply, const struct backend_request *req,
			  int status)
{
	if (status == -EAGAIN && req->attempts >= BUSY_TRIES &&
	    (reply->code == SHARING_VIOLATION || reply->code == FILE_LOCK_CONFLICT))
		return req->op == BACKEND_READ ? -EBUSY : -EACCES;
	return status;
}

/* A server that lists the streams of other objects and not of this one: streams of this object
 * count as not carried over. */
static void judge_streams(struct smb_server *server, struct source_xattrs *xattrs)
{
	struct source_windows *windows = xattrs ? xattrs->windows : NULL;

	if (windows && !windows->streams_unknown)
		atomic_store(&server->lists_streams, true);
	else if (windows && atomic_load(&server->lists_streams)) {
		windows->streams_unknown = false;
		windows->more_streams = true;
	}
}

static bool take_slot_reply(struct smb_conn *conn, const struct wire_reply *reply)
{
	struct backend_request *req;
	uint8_t *slot;
	int status;

	if (reply->slot >= WIRE_SLOTS || !conn->under_way[reply->slot].req ||
	    conn->under_way[reply->slot].serial != reply->serial)
		return false;
	slot = conn->worker.memory + (size_t)reply->slot * WIRE_SLOT_BYTES;
	req = conn->under_way[reply->slot].req;
	status = smb_reply_decode(reply, slot, req);
	trace_request(TRACE_REPLY, req, reply->slot, MIN(status, 0));
	if (!status && req->op == BACKEND_XATTRS)
		judge_streams(conn->server, req->xattrs);
	if (!status && req->op == BACKEND_READDIR)
		req->verf = smb_pool_verf(&conn->seat, conn->generation);
	backend_watch_answer(&conn->server->watch, conn->heard);
	suspects_answered(&conn->server->suspects, req, status, conn->heard);
	conn->trying.proved[req->op] = conn->proves = true;
	smb_pool_answered(conn->seat.pool);
	forget_request(conn, reply->slot);
	complete_request(conn->server, req, limit_patience(reply, req, status));
	conn->free[conn->n] = (uint8_t)reply->slot;
	return true;
}

/* FALSE: the worker cannot be used any more. */
static bool take_message(struct smb_conn *conn, const struct wire_reply *reply)
{
	conn->heard = g_get_monotonic_time();
	if (reply->version != WIRE_VERSION)
		return false;
	switch (reply->type) {
	case WIRE_HELLO:
		if (conn->ready || !(reply->flags & WIRE_HAS_ATTR))
			return false;
		worker_connected(conn, reply);
		return true;
	case WIRE_FAILED:
		take_failure(conn, reply);
		return false;
	case WIRE_ALIVE:
		backend_watch_answer(&conn->server->watch, conn->heard);
		return true;
	case WIRE_REPLY:
		return conn->ready && take_slot_reply(conn, reply);
	default:
		return false;
	}
}

static bool receive_messages(struct smb_conn *conn)
{
	struct wire_reply reply;

	for (unsigned i = 0; i < WIRE_SLOTS; i++) {
		ssize_t n =
			recv(conn->worker.sock, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n != sizeof(reply) || !take_message(conn, &reply))
			return false;
	}
	return true;
}

/* ---- the thread ---- */

static void clear_kick(struct smb_conn *conn)
{
	uint64_t count;

	if (read(conn->seat.kick, &count, sizeof(count)) < 0 && errno != EAGAIN)
		g_warning("%s: eventfd: %s", conn->server->url.text, g_strerror(errno));
}

/* Whether there was no request for a while, nor the rest of a listing. */
static bool is_idle(struct smb_conn *conn)
{
	conn->idle = conn->ready && !conn->n && !is_needed(conn) &&
		     !smb_pool_has_work(&conn->seat) &&
		     g_get_monotonic_time() - conn->heard > IDLE_MS * MS;
	return conn->idle;
}

static void serve_worker(struct smb_conn *conn)
{
	struct pollfd fds[] = {{conn->worker.sock, POLLIN}, {conn->seat.kick, POLLIN}};

	conn->heard = g_get_monotonic_time();
	while (!smb_pool_stopped(conn->seat.pool) && !is_hung(conn) && send_requests(conn) &&
	       !is_idle(conn)) {
		bool look = conn->n || !conn->ready || conn->seat.spare;
		int timeout = look ? (int)MIN(conn->stall_ms, 1000) : -1;

		if (poll(fds, G_N_ELEMENTS(fds), timeout) < 0 && errno != EINTR)
			return;
		if (fds[1].revents)
			clear_kick(conn);
		if (fds[0].revents && !receive_messages(conn))
			return;
	}
}

static bool start_worker(struct smb_conn *conn)
{
	struct smb_server *server = conn->server;
	g_autoptr(GError) error = NULL;
	int ret = smb_worker_log_on(&conn->worker, SMB_READER, server->config, &server->url,
				    conn->stall_ms, &error);

	if (error)
		tell_failure(conn, g_strdup(error->message), true);
	else if (ret)
		tell_failure(
			conn,
			g_strdup_printf("%s: migrate-smb-worker cannot be started (%s): reinstall "
					"quickmigrate, or raise the limits on processes and memory",
					server->url.text, g_strerror(-ret)),
			ret == -ENOENT);
	return !ret;
}

static void run_worker(struct smb_conn *conn)
{
	int status;

	conn->stall_ms = (unsigned)(smb_span(SMB_STALL) / MS);
	conn->ready = conn->idle = conn->proves = false;
	trial_begin(&conn->trying);
	if (!start_worker(conn)) {
		worker_ended(conn);
		return;
	}
	conn->generation++;
	for (unsigned i = 0; i < WIRE_SLOTS; i++)
		conn->free[i] = (uint8_t)i;
	serve_worker(conn);
	status = smb_worker_end(&conn->worker);
	worker_ended(conn); /* before others connect because of the requests that are given back */
	if (conn->n)
		give_back(conn);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		tell_failure(
			conn,
			g_strdup_printf("%s: migrate-smb-worker was ended by signal %d (%s): it is "
					"started again",
					conn->server->url.text, WTERMSIG(status),
					strsignal(WTERMSIG(status))),
			false);
}

static void wait_for_kick(struct smb_conn *conn, int ms)
{
	struct pollfd kick = {conn->seat.kick, POLLIN};

	poll(&kick, 1, ms);
	clear_kick(conn);
}

static void pause_for(struct smb_conn *conn, unsigned ms)
{
	gint64 until = g_get_monotonic_time() + ms * MS;

	while (!smb_pool_stopped(conn->seat.pool) && g_get_monotonic_time() < until)
		wait_for_kick(conn, (int)((until - g_get_monotonic_time()) / 1000) + 1);
}

/* Trials that cannot be made now, because too many connections were lost, or because the server
 * refuses new log-ons while other connections are there, do not keep their place before others.  In
 * an outage all requests wait. */
static void put_off(struct smb_conn *conn)
{
	struct smb_server *server = conn->server;
	GQueue waiting = G_QUEUE_INIT;

	if (!is_trial(conn))
		return;
	if ((conn->proves && smb_turns_lost_many(&server->turns, conn->seat.pool->kind)) ||
	    (smb_turns_refused(&server->turns) && smb_pool_has_ready(server->demand)))
		smb_pool_drain(conn->seat.pool, &waiting);
	while (waiting.head)
		complete_request(server, g_queue_pop_head_link(&waiting)->data, -EAGAIN);
}

/* Whether clients wait for a connection: connections for clients come first, as long as they may be
 * made. */
static bool yields(struct smb_conn *conn)
{
	struct smb_server *server = conn->server;
	enum smb_pool_kind kind = conn->seat.pool->kind;

	return (kind == SMB_TRIAL || kind == SMB_OTHERS) && smb_pool_starves(server->demand) &&
	       !smb_pool_has_ready(server->demand) &&
	       !smb_turns_lost_many(&server->turns, SMB_DEMAND);
}

static void *conn_main(void *arg)
{
	struct smb_conn *conn = arg;

	thread_background(conn->seat.pool->kind == SMB_OTHERS);
	while (!smb_pool_stopped(conn->seat.pool)) {
		if (!is_needed(conn)) {
			wait_for_kick(conn, -1);
		} else if (yields(conn)) {
			pause_for(conn, TURN_POLL_MS);
		} else if (smb_turns_may_connect(&conn->server->turns, conn->seat.pool->kind,
						 &conn->turn)) {
			run_worker(conn);
			if (!conn->proves)
				pause_for(conn, conn->pause);
			conn->pause = MIN(conn->pause * 2, PAUSE_MAX);
		} else {
			put_off(conn);
			pause_for(conn, TURN_POLL_MS);
		}
	}
	return NULL;
}

bool smb_conn_add(struct smb_pool *pool, struct smb_server *server, bool spare)
{
	struct smb_conn *conn = g_new0(struct smb_conn, 1);

	conn->server = server;
	conn->trying.suspects = &server->suspects;
	conn->pause = PAUSE_MIN;
	conn->seat.spare = spare;
	if (pool->kind != SMB_TRIAL && !spare)
		smb_turns_add(&server->turns);
	if (smb_pool_join(pool, &conn->seat)) {
		if (pthread_create(&conn->thread, NULL, conn_main, conn) == 0)
			return true;
		smb_pool_leave(&conn->seat);
	}
	g_free(conn);
	return false;
}

void smb_conns_end(struct smb_pool *pool, struct smb_server *server)
{
	GQueue left = G_QUEUE_INIT;

	smb_pool_stop(pool);
	for (unsigned i = 0; i < pool->n; i++)
		pthread_join(((struct smb_conn *)pool->seats[i])->thread, NULL);
	/* no thread adds to the queues any more */
	smb_pool_drain(pool, &left);
	while (left.head)
		complete_request(server, g_queue_pop_head_link(&left)->data, -ECANCELED);
}

void smb_conns_free(struct smb_pool *pool)
{
	while (pool->n) {
		struct smb_conn *conn = (struct smb_conn *)pool->seats[pool->n - 1];

		smb_pool_leave(&conn->seat);
		g_free(conn->said);
		g_free(conn);
	}
	smb_pool_clear(pool);
}
