/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/rpc.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_FRAGMENT 0x80000000u
#define AUTH_SYS      1

_Noreturn void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("openclient: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

/* ---- XDR ---- */

void put_fixed(struct xdr *x, const void *data, size_t len)
{
	size_t room = (len + 3) & ~(size_t)3;

	if (room < len || room > XDR_MAX - x->at)
		die("a call is too long");
	memcpy(x->data + x->at, data, len);
	memset(x->data + x->at + len, 0, room - len);
	x->at += room;
}

void put32(struct xdr *x, uint32_t value)
{
	value = htobe32(value);
	put_fixed(x, &value, sizeof value);
}

void put64(struct xdr *x, uint64_t value)
{
	value = htobe64(value);
	put_fixed(x, &value, sizeof value);
}

void put_opaque(struct xdr *x, const void *data, size_t len)
{
	put32(x, len);
	put_fixed(x, data, len);
}

const uint8_t *get_fixed(struct xdr *x, size_t len)
{
	const uint8_t *p = x->data + x->at;
	size_t room = (len + 3) & ~(size_t)3;

	if (room < len || room > x->len - x->at)
		die("a reply is too short");
	x->at += room;
	return p;
}

uint32_t get32(struct xdr *x)
{
	uint32_t value;

	memcpy(&value, get_fixed(x, sizeof value), sizeof value);
	return be32toh(value);
}

uint64_t get64(struct xdr *x)
{
	uint64_t value;

	memcpy(&value, get_fixed(x, sizeof value), sizeof value);
	return be64toh(value);
}

const uint8_t *get_opaque(struct xdr *x, uint32_t *len)
{
	*len = get32(x);
	return get_fixed(x, *len);
}

/* ---- RPC ---- */

static void *allocate(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("out of memory");
	return p;
}

struct rpc *rpc_connect(const char *host, unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct rpc *rpc = allocate(sizeof *rpc);
	int on = 1;

	if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
		die("%s: no IPv4 address", host);
	rpc->out.data = allocate(XDR_MAX);
	rpc->in.data = allocate(XDR_MAX);
	rpc->xid = (uint32_t)getpid() << 16;
	rpc->sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (rpc->sock < 0 || connect(rpc->sock, (struct sockaddr *)&to, sizeof to) < 0 ||
	    setsockopt(rpc->sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
		die("%s port %u: %s", host, port, strerror(errno));
	return rpc;
}

struct xdr *rpc_begin(struct rpc *rpc, uint32_t prog, uint32_t vers, uint32_t proc)
{
	static const char machine[] = "openclient";
	struct xdr *x = &rpc->out;

	x->at = 0;
	put32(x, 0); /* the record mark, set when the length is known */
	put32(x, ++rpc->xid);
	put32(x, 0); /* CALL */
	put32(x, 2);
	put32(x, prog);
	put32(x, vers);
	put32(x, proc);
	put32(x, AUTH_SYS);
	put32(x, 4 + 4 + ((strlen(machine) + 3) & ~3u) + 3 * 4);
	put32(x, 0);
	put_opaque(x, machine, strlen(machine));
	put32(x, 0); /* uid, gid, no other groups */
	put32(x, 0);
	put32(x, 0);
	put32(x, 0); /* verifier: AUTH_NONE */
	put32(x, 0);
	return x;
}

static void receive(struct rpc *rpc, void *data, size_t len)
{
	while (len) {
		ssize_t got = recv(rpc->sock, data, len, 0);

		if (got <= 0)
			die("the connection broke: %s", got ? strerror(errno) : "closed");
		data = (uint8_t *)data + got;
		len -= got;
	}
}

static void receive_record(struct rpc *rpc)
{
	struct xdr *x = &rpc->in;
	uint32_t mark;

	x->at = x->len = 0;
	do {
		receive(rpc, &mark, sizeof mark);
		mark = be32toh(mark);
		if ((mark & ~LAST_FRAGMENT) > XDR_MAX - x->len)
			die("a reply is too long");
		receive(rpc, x->data + x->len, mark & ~LAST_FRAGMENT);
		x->len += mark & ~LAST_FRAGMENT;
	} while (!(mark & LAST_FRAGMENT));
}

struct xdr *rpc_call(struct rpc *rpc)
{
	uint32_t mark = htobe32((rpc->out.at - 4) | LAST_FRAGMENT), len;
	size_t sent = 0;

	memcpy(rpc->out.data, &mark, sizeof mark);
	while (sent < rpc->out.at) {
		ssize_t n = send(rpc->sock, rpc->out.data + sent, rpc->out.at - sent, MSG_NOSIGNAL);

		if (n < 0)
			die("the connection broke: %s", strerror(errno));
		sent += n;
	}
	receive_record(rpc);
	if (get32(&rpc->in) != rpc->xid || get32(&rpc->in) != 1)
		die("that is no reply to the call");
	if (get32(&rpc->in) != 0)
		die("the call was denied");
	get32(&rpc->in);
	get_opaque(&rpc->in, &len);
	if (get32(&rpc->in) != 0)
		die("the server does not know the procedure");
	return &rpc->in;
}
