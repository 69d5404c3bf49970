/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection is a thread that keeps a worker running, hands it requests of its pool, and
 * completes what is answered.  A worker that ends, for whatever reason, is started again, and what
 * was under way goes back to the head of the pool's queue.  Only a request under which several
 * workers in a row have crashed is given up: a reply to it makes no sense to them.
 */
#include "backend_smb.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend_smb_secret.h"

#define STALL_MS   30000
#define HELLO_MS   90000
#define PAUSE_MIN  100
#define PAUSE_MAX  5000
#define PAUSE_LONG 60000	      /* after a log-on that was refused */
#define HANG_UPS   3		      /* are no accident: it does not speak SMB 2 */
#define BYTES_MAX  (8u * 1024 * 1024) /* of READs under way */
#define CRASHES	   3
#define BUSY_TRIES 6 /* of a file that somebody there has to himself: 3 seconds */

#define SHARING_VIOLATION  0xc0000043u
#define FILE_LOCK_CONFLICT 0xc0000054u

struct under_way {
	struct backend_request *req;
	uint32_t serial;
};

struct smb_conn {
	struct smb_pool *pool;
	struct smb_server *server;
	unsigned index, mark; /* in the pool; the pool's */
	pthread_t thread;
	int kick;     /* eventfd */
	GQueue bound; /* listings that go on here */
	bool asleep;  /* with room for a request */
	/* the thread's own */
	struct smb_worker worker;
	bool ready;
	uint32_t generation, serial; /* of the worker, of requests */
	struct under_way under_way[WIRE_SLOTS];
	uint8_t free[WIRE_SLOTS];
	unsigned n, bytes; /* under way */
	gint64 heard;
	unsigned pause, stall_ms;
	unsigned hung_up; /* in a row, when it was asked for its version */
	bool locked;	  /* asking again soon makes it worse: an account gets locked */
	char *said;	  /* the failure that was logged last */
};

static atomic_uint stall_ms = STALL_MS;

void backend_smb_set_stall(unsigned ms)
{
	atomic_store(&stall_ms, ms);
}

static void finish(struct smb_server *server, struct backend_request *req, int status)
{
	backend_watch_end(&server->watch);
	backend_complete(req, status);
}

/* ---- what is told to open() and to the log ---- */

static void failed(struct smb_conn *conn, char *text, bool final)
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

static void refused(struct smb_conn *conn, const struct wire_reply *reply)
{
	bool final = !conn->ready && smb_failure_is_final(reply);

	if (reply->status == WIRE_F_NEGOTIATE)
		final = ++conn->hung_up >= HANG_UPS;
	conn->locked = reply->status == WIRE_F_LOGON || reply->status == WIRE_F_GUEST;
	failed(conn, smb_failure_text(&conn->server->url, reply), final);
}

static void connected(struct smb_conn *conn, const struct wire_reply *hello)
{
	struct smb_server *server = conn->server;

	conn->ready = true;
	conn->pause = PAUSE_MIN;
	conn->hung_up = 0;
	conn->locked = false;
	if (conn->said && conn->server->known)
		g_message("%s: connected again", server->url.text);
	g_clear_pointer(&conn->said, g_free);
	pthread_mutex_lock(&server->lock);
	if (!server->known) {
		server->root = hello->attr;
		server->max_read = CLAMP(hello->len, 4096, WIRE_READ_MAX);
		server->known = true;
	}
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
}

/* ---- taking requests ---- */

static bool has_room(const struct smb_conn *conn)
{
	return conn->ready && conn->n < conn->pool->window && conn->bytes < BYTES_MAX;
}

/* With the pool's lock.  A share of what waits, so that all connections have work. */
static unsigned fair_share(const struct smb_pool *pool)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < G_N_ELEMENTS(pool->queue); i++)
		waiting += pool->queue[i].length;
	return (waiting + pool->n - 1) / pool->n;
}

static GList *pop(struct smb_conn *conn)
{
	struct smb_pool *pool = conn->pool;

	if (conn->bound.head)
		return g_queue_pop_head_link(&conn->bound);
	for (unsigned i = 0; i < G_N_ELEMENTS(pool->queue); i++)
		if (pool->queue[i].head)
			return g_queue_pop_head_link(&pool->queue[i]);
	return NULL;
}

static void note(struct smb_conn *conn, struct backend_request *req, unsigned slot)
{
	conn->under_way[slot] = (struct under_way){req, ++conn->serial};
	conn->n++;
	if (req->op == BACKEND_READ)
		conn->bytes += MIN(req->count, WIRE_READ_MAX);
}

static struct backend_request *unnote(struct smb_conn *conn, unsigned slot)
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

/* Which worker a listing is open in. */
static uint64_t verf_of(const struct smb_conn *conn)
{
	return (uint64_t)(conn->mark | (conn->index + 1)) << 32 | conn->generation;
}

/* Into a slot; FALSE: it cannot be asked for, *status says why. */
static bool encode(struct smb_conn *conn, struct backend_request *req, struct wire_request *out,
		   int *status)
{
	uint8_t slot = conn->free[conn->n], *memory;
	size_t path_len = strlen(req->object.path), name_len = 0;

	*status = -EBADMSG; /* the listing was another worker's: it begins again */
	if (req->op == BACKEND_READDIR && req->cookie && req->verf != verf_of(conn))
		return false;
	if (req->op == BACKEND_LOOKUP)
		name_len = strlen(req->name);
	memory = conn->worker.memory + (size_t)slot * WIRE_SLOT_BYTES;
	memcpy(memory, req->object.path, path_len);
	if (name_len)
		memcpy(memory + path_len, req->name, name_len);
	note(conn, req, slot);
	*out = (struct wire_request){
		.slot = slot,
		.serial = conn->serial,
		.op = wire_op(req->op),
		.count = MIN(req->count, WIRE_READ_MAX),
		.offset = req->offset,
		.cookie = req->cookie,
		.path_len = (uint32_t)path_len,
		.name_len = (uint32_t)name_len,
	};
	return true;
}

/* As many as there is room for.  FALSE: the worker is gone. */
static bool send_requests(struct smb_conn *conn)
{
	struct smb_pool *pool = conn->pool;
	struct wire_request requests[WIRE_SLOTS];
	unsigned n = 0, share;
	int status;

	pthread_mutex_lock(&pool->lock);
	share = fair_share(pool) + conn->bound.length;
	while (n < share && has_room(conn)) {
		GList *link = pop(conn);

		if (!link)
			break;
		if (encode(conn, link->data, &requests[n], &status)) {
			n++;
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		finish(conn->server, link->data, status);
		pthread_mutex_lock(&pool->lock);
	}
	conn->asleep = has_room(conn);
	pthread_mutex_unlock(&pool->lock);
	if (!n)
		return true;
	if (conn->n == n)
		conn->heard = g_get_monotonic_time();
	return send(conn->worker.sock, requests, n * sizeof(requests[0]), MSG_NOSIGNAL) ==
	       (ssize_t)(n * sizeof(requests[0]));
}

/* ---- answers ---- */

/* The pool's queue as it was. */
static int by_age(const void *a, const void *b, void *user)
{
	const struct under_way *x = a, *y = b;

	return x->serial < y->serial ? 1 : -1;
}

static void give_back(struct smb_conn *conn, bool crashed)
{
	struct smb_pool *pool = conn->pool;
	struct under_way list[WIRE_SLOTS];
	GQueue given_up = G_QUEUE_INIT;
	unsigned n = 0;

	for (unsigned i = 0; i < WIRE_SLOTS; i++) {
		if (!conn->under_way[i].req)
			continue;
		list[n] = conn->under_way[i];
		unnote(conn, i);
		n++;
	}
	g_qsort_with_data(list, (gint)n, sizeof(list[0]), by_age, NULL);
	pthread_mutex_lock(&pool->lock);
	conn->asleep = false;
	for (unsigned i = 0; i < n; i++) {
		struct backend_request *req = list[i].req;
		guint crashes = GPOINTER_TO_UINT(req->backend_data) + crashed;

		req->backend_data = GUINT_TO_POINTER(crashes);
		if (crashes >= CRASHES)
			g_queue_push_tail_link(&given_up, &req->link);
		else if (req->op == BACKEND_READDIR && req->cookie)
			g_queue_push_head_link(&conn->bound, &req->link);
		else
			g_queue_push_head_link(&pool->queue[req->priority], &req->link);
	}
	pthread_mutex_unlock(&pool->lock);
	while (given_up.head)
		finish(conn->server, g_queue_pop_head_link(&given_up)->data, -EBADMSG);
}

/* Somebody there has the file to himself: soon it may be free, and the crawler must not wait for
 * ever. */
static int patience(const struct wire_reply *reply, const struct backend_request *req, int status)
{
	if (status == -EAGAIN && req->attempts >= BUSY_TRIES &&
	    (reply->code == SHARING_VIOLATION || reply->code == FILE_LOCK_CONFLICT))
		return req->op == BACKEND_READ ? -EBUSY : -EACCES;
	return status;
}

static bool answered(struct smb_conn *conn, const struct wire_reply *reply)
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
	if (!status && req->op == BACKEND_READDIR)
		req->verf = verf_of(conn);
	backend_watch_answer(&conn->server->watch, conn->heard);
	unnote(conn, reply->slot);
	finish(conn->server, req, patience(reply, req, status));
	conn->free[conn->n] = (uint8_t)reply->slot;
	return true;
}

/* FALSE: the worker is of no use any more. */
static bool heard(struct smb_conn *conn, const struct wire_reply *reply)
{
	conn->heard = g_get_monotonic_time();
	if (reply->version != WIRE_VERSION)
		return false;
	switch (reply->type) {
	case WIRE_HELLO:
		if (conn->ready || !(reply->flags & WIRE_HAS_ATTR))
			return false;
		connected(conn, reply);
		return true;
	case WIRE_FAILED:
		refused(conn, reply);
		return false;
	case WIRE_ALIVE:
		backend_watch_answer(&conn->server->watch, conn->heard);
		return true;
	case WIRE_REPLY:
		return conn->ready && answered(conn, reply);
	default:
		return false;
	}
}

static bool receive(struct smb_conn *conn)
{
	struct wire_reply reply;

	for (unsigned i = 0; i < WIRE_SLOTS; i++) {
		ssize_t n =
			recv(conn->worker.sock, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n != sizeof(reply) || !heard(conn, &reply))
			return false;
	}
	return true;
}

/* ---- the thread ---- */

static bool stopped(struct smb_conn *conn)
{
	bool stop;

	pthread_mutex_lock(&conn->pool->lock);
	stop = conn->pool->stop;
	pthread_mutex_unlock(&conn->pool->lock);
	return stop;
}

static void drain(struct smb_conn *conn)
{
	uint64_t count;

	if (read(conn->kick, &count, sizeof(count)) < 0 && errno != EAGAIN)
		g_warning("%s: eventfd: %s", conn->server->url.text, g_strerror(errno));
}

/* A worker that does not even say that it waits. */
static bool is_hung(const struct smb_conn *conn)
{
	gint64 silent = (g_get_monotonic_time() - conn->heard) / 1000;

	if (!conn->ready)
		return silent > HELLO_MS;
	return conn->n && silent > (gint64)conn->stall_ms * 2;
}

static void serve(struct smb_conn *conn)
{
	struct pollfd fds[] = {{conn->worker.sock, POLLIN}, {conn->kick, POLLIN}};

	conn->heard = g_get_monotonic_time();
	while (!stopped(conn) && !is_hung(conn) && send_requests(conn)) {
		int timeout = conn->n || !conn->ready ? (int)MIN(conn->stall_ms, 1000) : -1;

		if (poll(fds, G_N_ELEMENTS(fds), timeout) < 0 && errno != EINTR)
			return;
		if (fds[1].revents)
			drain(conn);
		if (fds[0].revents && !receive(conn))
			return;
	}
}

static bool start_worker(struct smb_conn *conn)
{
	struct smb_server *server = conn->server;
	struct wire_start start = {
		.port = server->url.port,
		.host = server->url.host,
		.share = server->url.share,
		.path = server->url.path,
		.user = server->url.user,
		.domain = *server->url.domain ? server->url.domain : server->config->domain,
		.encryption = server->config->encryption,
		.signing = server->config->signing,
		.stall_ms = conn->stall_ms,
	};
	struct smb_secret secret;
	g_autoptr(GError) error = NULL;
	int ret;

	if (!smb_secret_get(server->config, server->url.text, &secret, &error)) {
		failed(conn, g_strdup(error->message), true);
		return false;
	}
	start.password = secret.password;
	start.ccache = secret.ccache;
	start.ccache_len = secret.ccache_len;
	ret = smb_worker_start(&conn->worker, &start);
	smb_secret_clear(&secret);
	if (ret)
		failed(conn,
		       g_strdup_printf("%s: migrate-smb-worker cannot be started (%s): reinstall "
				       "quickmigrate, or raise the limits on processes and memory",
				       server->url.text, g_strerror(-ret)),
		       ret == -ENOENT);
	return !ret;
}

static void run_worker(struct smb_conn *conn)
{
	int status;

	conn->stall_ms = atomic_load(&stall_ms);
	conn->ready = false;
	if (!start_worker(conn))
		return;
	conn->generation++;
	for (unsigned i = 0; i < WIRE_SLOTS; i++)
		conn->free[i] = (uint8_t)i;
	serve(conn);
	status = smb_worker_end(&conn->worker);
	conn->ready = false;
	give_back(conn, WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		failed(conn,
		       g_strdup_printf("%s: migrate-smb-worker was ended by signal %d (%s): it is "
				       "started again",
				       conn->server->url.text, WTERMSIG(status),
				       strsignal(WTERMSIG(status))),
		       false);
}

static void *conn_main(void *arg)
{
	struct smb_conn *conn = arg;

	while (!stopped(conn)) {
		struct pollfd kick = {conn->kick, POLLIN};
		gint64 until;

		run_worker(conn);
		until = g_get_monotonic_time() +
			(conn->locked ? PAUSE_LONG : conn->pause) * G_TIME_SPAN_MILLISECOND;
		conn->pause = MIN(conn->pause * 2, PAUSE_MAX);
		while (!stopped(conn) && g_get_monotonic_time() < until) {
			poll(&kick, 1, (int)((until - g_get_monotonic_time()) / 1000) + 1);
			drain(conn);
		}
	}
	return NULL;
}

bool smb_conn_add(struct smb_pool *pool, struct smb_server *server)
{
	struct smb_conn *conn = g_new0(struct smb_conn, 1);

	conn->pool = pool;
	conn->server = server;
	conn->mark = pool->mark;
	conn->index = pool->n;
	conn->pause = PAUSE_MIN;
	conn->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (conn->kick < 0) {
		g_free(conn);
		return false;
	}
	pthread_mutex_lock(&pool->lock);
	pool->conns[pool->n++] = conn;
	pthread_mutex_unlock(&pool->lock);
	if (pthread_create(&conn->thread, NULL, conn_main, conn) == 0)
		return true;
	pthread_mutex_lock(&pool->lock);
	pool->n--;
	pthread_mutex_unlock(&pool->lock);
	close(conn->kick);
	g_free(conn);
	return false;
}

/* ---- pools ---- */

void smb_pool_init(struct smb_pool *pool, unsigned mark, unsigned window)
{
	pthread_mutex_init(&pool->lock, NULL);
	pool->mark = mark << 8;
	pool->window = window;
}

static void wake(struct smb_conn *conn)
{
	const uint64_t one = 1;

	if (write(conn->kick, &one, sizeof(one)) < 0 && errno != EAGAIN)
		g_warning("%s: eventfd: %s", conn->server->url.text, g_strerror(errno));
}

static void cancel_all(struct smb_server *server, GQueue *queue)
{
	while (queue->head)
		finish(server, g_queue_pop_head_link(queue)->data, -ECANCELED);
}

void smb_pool_stop(struct smb_pool *pool)
{
	unsigned n;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	n = pool->n;
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < n; i++)
		wake(pool->conns[i]);
	for (unsigned i = 0; i < n; i++)
		pthread_join(pool->conns[i]->thread, NULL);
	/* nobody adds to the queues any more */
	for (unsigned i = 0; i < n; i++) {
		struct smb_conn *conn = pool->conns[i];

		cancel_all(conn->server, &conn->bound);
		for (unsigned k = 0; i == 0 && k < G_N_ELEMENTS(pool->queue); k++)
			cancel_all(conn->server, &pool->queue[k]);
	}
}

void smb_pool_clear(struct smb_pool *pool)
{
	for (unsigned i = 0; i < pool->n; i++) {
		close(pool->conns[i]->kick);
		g_free(pool->conns[i]->said);
		g_free(pool->conns[i]);
	}
	pthread_mutex_destroy(&pool->lock);
}

/* With the lock: one that sleeps and has room. */
static struct smb_conn *sleeper(struct smb_pool *pool)
{
	for (unsigned i = 0; i < pool->n; i++)
		if (pool->conns[i]->asleep)
			return pool->conns[i];
	return NULL;
}

bool smb_pool_lists(const struct smb_pool *pool, const struct backend_request *req)
{
	uint64_t index = (req->verf >> 32) - pool->mark;

	return req->op == BACKEND_READDIR && req->cookie && index >= 1 && index <= pool->n;
}

void smb_pool_submit(struct smb_pool *pool, struct backend_request *req)
{
	struct smb_conn *conn = NULL;
	bool stop, bound = smb_pool_lists(pool, req);

	pthread_mutex_lock(&pool->lock);
	stop = pool->stop;
	if (!stop && bound) {
		conn = pool->conns[(req->verf >> 32) - pool->mark - 1];
		g_queue_push_tail_link(&conn->bound, &req->link);
	} else if (!stop) {
		conn = sleeper(pool);
		g_queue_push_tail_link(&pool->queue[req->priority], &req->link);
	}
	if (conn)
		conn->asleep = false;
	pthread_mutex_unlock(&pool->lock);
	if (stop)
		finish(pool->conns[0]->server, req, -ECANCELED);
	else if (conn)
		wake(conn);
}
