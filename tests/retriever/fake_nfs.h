/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An NFS version 3 server with one directory and one file that lies as it is told: for what no real
 * server does.  MOUNT and NFS on one port, a thread a connection, on 127.0.0.1.
 */
#ifndef TESTS_RETRIEVER_FAKE_NFS_H
#define TESTS_RETRIEVER_FAKE_NFS_H

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/source/nfs/nfs.h"
#include "lib/source/nfs/nfs_conn.h"
#include "lib/source/nfs/nfs_net.h"
#include "lib/source/nfs/nfs_proc.h"
#include "lib/source/nfs/nfs_server.h"

#define FAKE_CONNS  64
#define FAKE_FSID   7
#define FAKE_ROOT   "root handle"
#define FAKE_FILE   "file handle"
#define FAKE_BUFFER (3u << 20)
#define FAKE_MOUNT  100005

enum fake_action {
	FAKE_DEFAULT, /* the hook has nothing to say */
	FAKE_REPLY,   /* what is in out */
	FAKE_IGNORE,  /* no reply ever */
	FAKE_RESET,   /* the connection breaks */
	FAKE_HALF,    /* half of out, then the connection breaks */
	FAKE_SPLIT,   /* out in fragments of seven bytes */
};

struct fake;

struct fake_call {
	struct fake *fake;
	unsigned connection; /* which, counted from 0 */
	uint32_t xid, program, version, procedure;
	uint32_t flavour; /* of the credential */
	struct xdr_in credential, args;
	const uint8_t *header, *verifier; /* the header ends with the credential */
	uint32_t header_len, verifier_len;
	struct xdr_out out; /* after a successful RPC header */
	uint8_t *start;	    /* of out */
};

struct fake {
	int fd;
	unsigned port;
	pthread_t thread;
	enum fake_action (*hook)(struct fake_call *call);
	void *user;
	atomic_uint connections, calls;
	atomic_bool closing;
	struct fake_conn {
		struct fake *fake;
		unsigned number;
		int fd;
		pthread_t thread;
	} conns[FAKE_CONNS];
};

/* ---- pieces of replies ---- */

static inline void fake_header(struct fake_call *call, uint32_t accept_stat)
{
	call->out.p = call->start + 4;
	xdr_put_u32(&call->out, call->xid);
	xdr_put_u32(&call->out, 1);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, accept_stat);
}

static inline void fake_attr_as(struct xdr_out *out, uint32_t type, uint64_t size, uint64_t fileid,
				uint64_t fsid)
{
	xdr_put_u32(out, type);
	xdr_put_u32(out, 0644);
	xdr_put_u32(out, 1);
	xdr_put_u32(out, 11);
	xdr_put_u32(out, 22);
	xdr_put_u64(out, size);
	xdr_put_u64(out, size);
	xdr_put_u64(out, 0);
	xdr_put_u64(out, fsid);
	xdr_put_u64(out, fileid);
	for (unsigned i = 0; i < 3; i++) {
		xdr_put_u32(out, 1000 + i);
		xdr_put_u32(out, 5);
	}
}

static inline void fake_attr(struct xdr_out *out, uint32_t type, uint64_t size, uint64_t fileid)
{
	fake_attr_as(out, type, size, fileid, FAKE_FSID);
}

static inline enum fake_action fake_status(struct fake_call *call, uint32_t status)
{
	xdr_put_u32(&call->out, status);
	xdr_put_u32(&call->out, 0);
	xdr_put_u32(&call->out, 0);
	return FAKE_REPLY;
}

static inline enum fake_action fake_default(struct fake_call *call)
{
	struct xdr_out *out = &call->out;

	if (call->program == NFSACL_PROGRAM || call->version == 4) {
		fake_header(call, 1);
		return FAKE_REPLY;
	}
	xdr_put_u32(out, 0);
	if (call->program == FAKE_MOUNT) {
		xdr_put_bytes(out, FAKE_ROOT, strlen(FAKE_ROOT));
		xdr_put_u32(out, 1);
		xdr_put_u32(out, 1);
		return FAKE_REPLY;
	}
	switch (call->procedure) {
	case NFSPROC3_GETATTR:
		fake_attr(out, 2, 4096, 1);
		break;
	case NFSPROC3_LOOKUP:
		xdr_put_bytes(out, FAKE_FILE, strlen(FAKE_FILE));
		xdr_put_u32(out, 1);
		fake_attr(out, 1, 100, 2);
		xdr_put_u32(out, 0);
		break;
	case NFSPROC3_FSINFO:
		xdr_put_u32(out, 0);
		xdr_put_u32(out, 1 << 20);
		break;
	case NFSPROC3_READ:
		xdr_put_u32(out, 0);
		xdr_put_u32(out, 4);
		xdr_put_u32(out, 1);
		xdr_put_bytes(out, "data", 4);
		break;
	default:
		return FAKE_IGNORE;
	}
	return FAKE_REPLY;
}

/* ---- the server ---- */

static inline bool fake_receive(int fd, void *bytes, size_t len)
{
	return len == 0 || recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

static inline bool fake_send(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static inline bool fake_send_split(int fd, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		size_t n = len < 7 ? len : 7;
		uint32_t mark = htonl((uint32_t)n | (n == len ? 0x80000000u : 0));

		if (!fake_send(fd, (uint8_t *)&mark, 4) || !fake_send(fd, bytes, n))
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

/* FALSE: the connection ends. */
static inline bool fake_answer(struct fake_conn *conn, struct fake_call *call)
{
	struct fake *fake = conn->fake;
	enum fake_action action = fake->hook ? fake->hook(call) : FAKE_DEFAULT;
	size_t len;

	if (action == FAKE_DEFAULT)
		action = fake_default(call);
	len = (size_t)(call->out.p - call->start);
	rpc_call_finish(&call->out, &(struct rpc_auth){0}, call->start);
	switch (action) {
	case FAKE_REPLY:
		return fake_send(conn->fd, call->start, len);
	case FAKE_SPLIT:
		return fake_send_split(conn->fd, call->start + 4, len - 4);
	case FAKE_HALF:
		fake_send(conn->fd, call->start, len / 2);
		return false;
	case FAKE_RESET:
		return false;
	default:
		return true;
	}
}

static inline void *fake_serve(void *arg)
{
	struct fake_conn *conn = arg;
	uint8_t *reply = g_malloc(FAKE_BUFFER), args[4096];
	uint32_t mark;

	while (fake_receive(conn->fd, &mark, 4)) {
		struct fake_call call = {.fake = conn->fake, .connection = conn->number};
		size_t len = ntohl(mark) & 0x7fffffff;

		if (len > sizeof(args) || !fake_receive(conn->fd, args, len))
			break;
		call.args = (struct xdr_in){.p = args, .end = args + len};
		call.xid = xdr_get_u32(&call.args);
		xdr_skip(&call.args, 8);
		call.program = xdr_get_u32(&call.args);
		call.version = xdr_get_u32(&call.args);
		call.procedure = xdr_get_u32(&call.args);
		call.flavour = xdr_get_u32(&call.args);
		call.credential.p = xdr_get_bytes(&call.args, &call.header_len);
		call.credential.end = call.credential.p + call.header_len;
		call.header = args;
		call.header_len = (uint32_t)(call.args.p - args);
		xdr_skip(&call.args, 4);
		call.verifier = xdr_get_bytes(&call.args, &call.verifier_len);
		call.start = reply;
		call.out = (struct xdr_out){.p = reply, .end = reply + FAKE_BUFFER};
		fake_header(&call, 0);
		atomic_fetch_add(&conn->fake->calls, 1);
		if (!fake_answer(conn, &call))
			break;
	}
	shutdown(conn->fd, SHUT_RDWR);
	g_free(reply);
	return NULL;
}

static inline void *fake_listen(void *arg)
{
	struct fake *fake = arg;

	while (!atomic_load(&fake->closing)) {
		unsigned n = atomic_load(&fake->connections);
		int fd = accept(fake->fd, NULL, NULL), on = 1;

		if (fd < 0)
			continue;
		if (n == FAKE_CONNS || atomic_load(&fake->closing)) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		fake->conns[n] = (struct fake_conn){.fake = fake, .number = n, .fd = fd};
		/* Counted before it can answer anything. */
		atomic_store(&fake->connections, n + 1);
		pthread_create(&fake->conns[n].thread, NULL, fake_serve, &fake->conns[n]);
	}
	return NULL;
}

static inline struct fake *fake_start(enum fake_action (*hook)(struct fake_call *call), void *user)
{
	struct fake *fake = g_new0(struct fake, 1);
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);

	fake->hook = hook;
	fake->user = user;
	fake->fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(fake->fd, (struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(listen(fake->fd, 16), 0);
	getsockname(fake->fd, (struct sockaddr *)&addr, &len);
	fake->port = ntohs(addr.sin_port);
	ck_assert_int_eq(pthread_create(&fake->thread, NULL, fake_listen, fake), 0);
	return fake;
}

/* After the backend was closed; hooks must return by themselves. */
static inline void fake_stop(struct fake *fake)
{
	atomic_store(&fake->closing, true);
	shutdown(fake->fd, SHUT_RDWR);
	pthread_join(fake->thread, NULL);
	for (unsigned i = 0; i < fake->connections; i++) {
		shutdown(fake->conns[i].fd, SHUT_RDWR);
		pthread_join(fake->conns[i].thread, NULL);
		close(fake->conns[i].fd);
	}
	close(fake->fd);
	g_free(fake);
}

/* A backend on it; the URL's further arguments in more ("" or "&name=value"). */
static inline struct backend *fake_open(struct fake *fake, const char *path, const char *more,
					unsigned connections, struct source_object *root,
					GError **error)
{
	g_autofree char *url = g_strdup_printf("nfs://127.0.0.1:%u%s?mountport=%u%s", fake->port,
					       path, fake->port, more);
	const struct backend_config config = {
		.url = url, .connections = connections, .demand_connections = 1};
	struct source_attr attr;

	return backend_nfs_ops.open(&config, root, &attr, error);
}

/* That server, as the backend's files know it, by its address and sec=; its credential is the
 * caller's to make. */
static inline void fake_server(const struct fake *fake, enum nfs_sec sec,
			       struct nfs_address *address, struct nfs_server *server)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&address->addr;

	*in = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	address->len = sizeof(*in);
	*server = (struct nfs_server){
		.url = {.text = (char *)"nfs://old/x", .host = (char *)"old", .sec = sec},
		.addresses = address,
		.n_addresses = 1,
		.nfs = {.port = fake->port,
			.program = NFS_PROGRAM,
			.version = NFS_VERSION,
			.fixed = true},
		.stall_ms = NFS_STALL_MS,
		.view.root.len = (uint8_t)strlen(FAKE_ROOT)};
	memcpy(server->view.root.bytes, FAKE_ROOT, strlen(FAKE_ROOT));
	rpc_auth_init(&server->auth, 0, 0);
}

#endif
