/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

/* The reserved ports that Linux's own client takes; many servers answer no others. */
#define PORT_MIN 665
#define PORT_MAX 1023

#define LAN_WINDOW 64
#define WAN_WINDOW 256
#define WAN_RTT_US 3000

#define AUTH_TLS 7
#define NULLPROC 0

#define PMAP_PROGRAM 100000
#define PMAP_VERSION 2
#define PMAP_PORT    111
#define PMAP_GETPORT 3

static void set_port(struct sockaddr_storage *addr, unsigned port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
}

static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},	 {SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 10}, {IPPROTO_TCP, TCP_KEEPINTVL, 5},
		{IPPROTO_TCP, TCP_KEEPCNT, 4},	 {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},
	};
	/* Reserved ports are few: no connection is to stay behind in TIME_WAIT. */
	struct linger linger = {.l_onoff = 1};

	for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			   sizeof(options[i].value));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* FALSE: that port cannot be used. */
static bool bind_reserved(int fd, int family, unsigned port, bool *permitted)
{
	struct sockaddr_storage local = {.ss_family = (sa_family_t)family};
	socklen_t len =
		family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	set_port(&local, port);
	if (bind(fd, (struct sockaddr *)&local, len) == 0)
		return true;
	*permitted = errno != EACCES;
	return false;
}

int nfs_socket(const struct nfs_address *address, unsigned port)
{
	const unsigned ports = PORT_MAX - PORT_MIN + 1;
	unsigned start = g_random_int_range(0, (gint32)ports);
	struct sockaddr_storage to = address->addr;
	bool permitted = true;

	set_port(&to, port);
	/* The last attempt, or one without the right to reserved ports, takes any port. */
	for (unsigned i = 0; i <= ports; i++) {
		int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

		if (fd < 0)
			return -errno;
		set_options(fd);
		if (permitted && i < ports &&
		    !bind_reserved(fd, to.ss_family, PORT_MIN + (start + i) % ports, &permitted)) {
			close(fd);
			continue;
		}
		if (connect(fd, (struct sockaddr *)&to, address->len) == 0 || errno == EINPROGRESS)
			return fd;
		err = errno;
		close(fd);
		if (err != EADDRNOTAVAIL && err != EADDRINUSE)
			return -err;
	}
	return -EADDRNOTAVAIL;
}

bool nfs_is_myself(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr &&
		       ntohl(a4->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
	return a->ss_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr) &&
	       !IN6_IS_ADDR_LOOPBACK(&a6->sin6_addr);
}

/* Once the old server's address has moved here with its clients, this machine would fetch from
 * itself. */
static bool leads_to_myself(int fd)
{
	struct sockaddr_storage here = {.ss_family = AF_UNSPEC}, there = {.ss_family = AF_UNSPEC};
	socklen_t here_len = sizeof(here), there_len = sizeof(there);

	return getsockname(fd, (struct sockaddr *)&here, &here_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&there, &there_len) == 0 &&
	       nfs_is_myself(&here, &there);
}

int nfs_socket_error(int fd, bool elsewhere)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return err == 0 && elsewhere && leads_to_myself(fd) ? -ELOOP : -err;
}

unsigned nfs_window(int fd, unsigned configured)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (configured)
		return configured;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 && info.tcpi_rtt > WAN_RTT_US)
		return WAN_WINDOW;
	return LAN_WINDOW;
}

static int wait_for(const struct nfs_call *call, const struct nfs_link *link, short events)
{
	return nfs_link_wait(link, events, call->deadline, call->cancel_fd);
}

static int send_all(const struct nfs_call *call, struct nfs_link *link, const uint8_t *bytes,
		    size_t len)
{
	while (len > 0) {
		ssize_t n = nfs_link_send(link, bytes, len);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			int ret = wait_for(call, link, POLLOUT);

			if (ret < 0)
				return ret;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int receive_record(const struct nfs_call *call, struct nfs_link *link,
			  struct rpc_stream *stream, struct xdr_in *record)
{
	for (;;) {
		int ret = rpc_stream_next(stream, record);
		uint8_t *at;
		size_t room;
		ssize_t n;

		if (ret != 0)
			return ret < 0 ? ret : 0;
		/* each time: the server may send without end */
		ret = nfs_link_holds(link) ? 0 : wait_for(call, link, POLLIN);
		if (ret < 0)
			return ret;
		at = rpc_stream_room(stream, &room);
		n = nfs_link_receive(link, at, room);
		if (n > 0)
			rpc_stream_received(stream, (size_t)n);
		else if (n == 0)
			return -ECONNRESET;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
}

/* FALSE: a call that was cancelled ends now.  Only who has the answer can end what it made. */
static bool wait_longer(struct nfs_call *call)
{
	if (!call->makes)
		return false;
	call->cancel_fd = -1;
	call->deadline = MIN(call->deadline, g_get_monotonic_time() + G_USEC_PER_SEC);
	return true;
}

static int send_and_receive(const struct nfs_call *call, struct nfs_link *link,
			    struct rpc_stream *stream, struct xdr_in *in)
{
	size_t size = RPC_CALL_MAX + call->args_len;
	g_autofree uint8_t *bytes = g_malloc(size);
	struct xdr_out out = {.p = bytes, .end = bytes + size};
	uint32_t xid = g_random_int();
	struct nfs_call sent = *call;
	struct rpc_reply reply;
	int ret;

	rpc_call_begin(&out, call->auth, xid, call->program, call->version, call->procedure);
	if (out.bad || (size_t)(out.end - out.p) < call->args_len)
		return -EMSGSIZE;
	if (call->args_len)
		memcpy(out.p, call->args, call->args_len);
	out.p += call->args_len;
	rpc_call_finish(&out, call->auth, bytes);
	if (out.bad)
		return -EMSGSIZE;
	ret = send_all(call, link, bytes, (size_t)(out.p - bytes));
	if (ret < 0)
		return ret;
	do {
		ret = receive_record(&sent, link, stream, in);
		if (ret == -ECANCELED && wait_longer(&sent))
			ret = receive_record(&sent, link, stream, in);
		if (ret < 0)
			return ret;
		ret = rpc_reply_begin(in, &reply);
	} while (reply.xid != xid);
	if (call->reply)
		*call->reply = reply;
	return rpc_reply_open(call->auth, &reply, ret, in);
}

/* RFC 9289 section 4.1: a NULL call that asks for TLS, in the clear. */
static int start_tls(const struct nfs_call *call, struct nfs_link *link, struct rpc_stream *stream)
{
	static const char starttls[] = "STARTTLS";
	struct rpc_auth auth = {.len = 4 * 4};
	struct xdr_out out = {.p = auth.bytes, .end = auth.bytes + auth.len};
	struct rpc_reply reply;
	struct nfs_call ask = *call;
	struct xdr_in in;
	int ret;

	xdr_put_u32(&out, AUTH_TLS);
	for (unsigned i = 0; i < 3; i++) /* nothing in it, and AUTH_NONE */
		xdr_put_u32(&out, 0);
	ask.auth = &auth;
	ask.procedure = NULLPROC;
	ask.makes = false;
	ask.args_len = 0;
	ask.reply = &reply;
	ret = send_and_receive(&ask, link, stream, &in);
	if (nfs_is_away(ret) || ret == -ECANCELED)
		return ret;
	/* bytes behind this reply would be taken for bytes that came by TLS */
	if (ret < 0 || reply.verifier_len != strlen(starttls) ||
	    memcmp(reply.verifier, starttls, strlen(starttls)) != 0 || stream->end > stream->next) {
		*call->why = g_strdup("the old server does not offer TLS: switch it on there "
				      "(tlshd, xprtsec=tls in its export), or leave xprtsec= out");
		return -EKEYREJECTED;
	}
	rpc_stream_reset(stream);
	return nfs_tls_begin(call->tls, link, call->deadline, call->cancel_fd, call->why);
}

static int connect_link(const struct nfs_call *call, struct nfs_link *link,
			struct rpc_stream *stream)
{
	int ret;

	*link = (struct nfs_link){.fd = nfs_socket(call->address, call->port)};
	if (link->fd < 0)
		return link->fd;
	ret = wait_for(call, link, POLLOUT);
	if (ret == 0)
		ret = nfs_socket_error(link->fd, call->elsewhere);
	if (ret == -ELOOP && call->why)
		*call->why = g_strdup(NFS_MYSELF);
	return ret == 0 && call->tls ? start_tls(call, link, stream) : ret;
}

int nfs_connect(const struct nfs_call *call, struct nfs_link *link)
{
	struct rpc_stream stream;
	int ret;

	rpc_stream_init(&stream);
	ret = connect_link(call, link, &stream);
	rpc_stream_clear(&stream);
	if (ret < 0)
		nfs_link_close(link);
	return ret;
}

int nfs_call(const struct nfs_call *call, struct xdr_in *in, uint8_t **memory)
{
	struct rpc_stream stream;
	struct nfs_link link;
	int ret;

	*memory = NULL;
	rpc_stream_init(&stream);
	ret = connect_link(call, &link, &stream);
	if (ret == 0)
		ret = send_and_receive(call, &link, &stream, in);
	if (ret == -EPROTO && call->tls) {
		*call->why = nfs_tls_ended(call->tls, &link);
		ret = -EKEYREJECTED;
	}
	nfs_link_close(&link);
	if (ret == 0)
		*memory = g_steal_pointer(&stream.buf);
	rpc_stream_clear(&stream);
	return ret;
}

bool nfs_is_away(int status)
{
	switch (-status) {
	case ECONNREFUSED:
	case ECONNRESET:
	case ECONNABORTED:
	case EPIPE:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ELOOP: /* nfs_socket_error() */
	case ENETUNREACH:
	case ENETDOWN:
	case EAGAIN:
	case EADDRNOTAVAIL:
		return true;
	default:
		return false;
	}
}

int nfs_ask_port(const struct nfs_server *server, uint32_t program, uint32_t version,
		 gint64 deadline, int cancel_fd, unsigned *port)
{
	uint8_t args[16], *memory;
	struct xdr_out out = {.p = args, .end = args + sizeof(args)};
	struct nfs_call call = {
		.address = &server->addresses[atomic_load(&server->address)],
		.auth = &server->auth,
		.port = PMAP_PORT,
		.program = PMAP_PROGRAM,
		.version = PMAP_VERSION,
		.procedure = PMAP_GETPORT,
		.args = args,
		.args_len = sizeof(args),
		.deadline = deadline,
		.cancel_fd = cancel_fd,
	};
	struct xdr_in in;
	int ret;

	xdr_put_u32(&out, program);
	xdr_put_u32(&out, version);
	xdr_put_u32(&out, IPPROTO_TCP);
	xdr_put_u32(&out, 0);
	ret = nfs_call(&call, &in, &memory);
	if (ret < 0)
		return ret;
	*port = xdr_get_u32(&in);
	g_free(memory);
	if (in.bad || *port > 65535)
		return -EBADMSG;
	return *port ? 0 : -ENOENT;
}
