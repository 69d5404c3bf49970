/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_rpc.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

enum { RPC_VERSION = 2, RPC_CALL = 0, RPC_REPLY = 1 };
enum { MSG_ACCEPTED = 0, MSG_DENIED = 1 };
enum { ACCEPT_SUCCESS, PROG_UNAVAIL, PROG_MISMATCH, PROC_UNAVAIL, GARBAGE_ARGS, SYSTEM_ERR };
enum { AUTH_NONE = 0, AUTH_SYS = 1, REJECT_AUTH_ERROR = 1 };
enum { CREDPROBLEM = 13, CTXPROBLEM = 14 }; /* RFC 2203 section 5.3.3.3 */
#define LAST_FRAGMENT	 UINT32_C(0x80000000)
#define AUTH_SYS_FIXED	 20 /* stamp, length of the name, uid, gid, number of groups */
#define MACHINE_NAME_MAX 64

void rpc_auth_init(struct rpc_auth *auth, uint32_t uid, uint32_t gid)
{
	struct xdr_out out;
	char name[MACHINE_NAME_MAX + 1] = "";
	uint32_t len;

	if (gethostname(name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	len = (uint32_t)strlen(name);
	*auth = (struct rpc_auth){0};
	out = (struct xdr_out){.p = auth->bytes, .end = auth->bytes + sizeof(auth->bytes)};
	xdr_put_u32(&out, AUTH_SYS);
	xdr_put_u32(&out, AUTH_SYS_FIXED + ((len + 3) & ~3u));
	xdr_put_u32(&out, (uint32_t)getpid());
	xdr_put_bytes(&out, name, len);
	xdr_put_u32(&out, uid);
	xdr_put_u32(&out, gid);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, AUTH_NONE);
	xdr_put_u32(&out, 0);
	auth->len = (size_t)(out.p - auth->bytes);
}

void rpc_call_begin(struct xdr_out *out, const struct rpc_auth *auth, uint32_t xid,
		    uint32_t program, uint32_t version, uint32_t procedure)
{
	const uint8_t *header = out->p + 4;

	xdr_put_u32(out, 0);
	xdr_put_u32(out, xid);
	xdr_put_u32(out, RPC_CALL);
	xdr_put_u32(out, RPC_VERSION);
	xdr_put_u32(out, program);
	xdr_put_u32(out, version);
	xdr_put_u32(out, procedure);
	if (!out->bad && auth->gss) {
		nfs_gss_begin(auth->gss, xid, header, out);
		return;
	}
	if (out->bad || (size_t)(out->end - out->p) < auth->len) {
		out->bad = true;
		return;
	}
	memcpy(out->p, auth->bytes, auth->len);
	out->p += auth->len;
}

void rpc_call_finish(struct xdr_out *out, const struct rpc_auth *auth, uint8_t *start)
{
	uint32_t mark;

	if (auth->gss)
		nfs_gss_finish(auth->gss, out);
	mark = htobe32((uint32_t)(out->p - start - 4) | LAST_FRAGMENT);
	memcpy(start, &mark, 4);
}

static int denial_status(struct xdr_in *in)
{
	uint32_t why = xdr_get_u32(in), stat;

	if (in->bad)
		return -EBADMSG;
	if (why != REJECT_AUTH_ERROR)
		return -EREMOTEIO;
	stat = xdr_get_u32(in);
	return stat == CREDPROBLEM || stat == CTXPROBLEM ? -EKEYEXPIRED : -EACCES;
}

int rpc_reply_begin(struct xdr_in *in, struct rpc_reply *reply)
{
	uint32_t direction, stat;

	*reply = (struct rpc_reply){.xid = xdr_get_u32(in)};
	direction = xdr_get_u32(in);
	stat = xdr_get_u32(in);
	if (in->bad || direction != RPC_REPLY || stat > MSG_DENIED)
		return -EBADMSG;
	if (stat == MSG_DENIED)
		return denial_status(in);
	reply->accepted = true;
	xdr_get_u32(in);
	reply->verifier = xdr_get_bytes(in, &reply->verifier_len);
	stat = xdr_get_u32(in);
	if (in->bad)
		return -EBADMSG;
	switch (stat) {
	case ACCEPT_SUCCESS:
		return 0;
	case PROG_UNAVAIL:
	case PROG_MISMATCH:
		return -EAGAIN;
	case PROC_UNAVAIL:
		return -ENOTSUP;
	case GARBAGE_ARGS:
		return -EBADMSG;
	default:
		return -EREMOTEIO;
	}
}

int rpc_reply_open(const struct rpc_auth *auth, const struct rpc_reply *reply, int status,
		   struct xdr_in *in)
{
	if (!auth->gss)
		return status;
	nfs_gss_answered(auth->gss, reply->xid);
	if (!reply->accepted)
		return status;
	return nfs_gss_open(auth->gss, reply->xid, reply->verifier, reply->verifier_len, status,
			    in);
}

bool rpc_is_stranger(int status)
{
	return status == -EKEYEXPIRED || status == -EKEYREJECTED;
}

void rpc_stream_init(struct rpc_stream *stream)
{
	*stream = (struct rpc_stream){.size = RPC_RECORD_MAX + 2 * RPC_CHUNK};
	stream->buf = g_malloc(stream->size);
}

void rpc_stream_clear(struct rpc_stream *stream)
{
	g_clear_pointer(&stream->buf, g_free);
}

void rpc_stream_reset(struct rpc_stream *stream)
{
	*stream = (struct rpc_stream){.buf = stream->buf, .size = stream->size};
}

/* What follows in the buffer goes to `to`. */
static void move_rest(struct rpc_stream *stream, size_t to)
{
	memmove(stream->buf + to, stream->buf + stream->next, stream->end - stream->next);
	stream->end -= stream->next - to;
	stream->next = to;
}

uint8_t *rpc_stream_room(struct rpc_stream *stream, size_t *size)
{
	/* Receives little past the end of a large record, so that little has to be moved
	 * afterwards. */
	size_t want = stream->in_fragment ? MAX(stream->fragment, RPC_CHUNK) : RPC_CHUNK;

	if (stream->base > 0 &&
	    (stream->base == stream->end || stream->size - stream->end < want)) {
		memmove(stream->buf, stream->buf + stream->base, stream->len);
		stream->base = 0;
	}
	move_rest(stream, stream->base + stream->len);
	*size = MIN(want, stream->size - stream->end);
	return stream->buf + stream->end;
}

void rpc_stream_received(struct rpc_stream *stream, size_t size)
{
	stream->end += size;
}

/* The mark of the next fragment, with four bytes and more there. */
static int next_mark(struct rpc_stream *stream, struct xdr_in *record)
{
	uint8_t *at = stream->buf + stream->next;
	uint32_t mark;

	memcpy(&mark, at, 4);
	mark = be32toh(mark);
	stream->fragment = mark & ~LAST_FRAGMENT;
	stream->last = mark & LAST_FRAGMENT;
	if (stream->fragment > RPC_RECORD_MAX - stream->len) {
		const uint8_t *xid = stream->len >= 4 ? stream->buf + stream->base : at + 4;

		if (stream->len < 4 && stream->buf + stream->end - xid < 4)
			return 0;
		*record = (struct xdr_in){.p = xid, .end = xid + 4};
		return -EMSGSIZE;
	}
	stream->next += 4;
	if (stream->len == 0)
		stream->base = stream->next;
	stream->in_fragment = true;
	return 1;
}

int rpc_stream_next(struct rpc_stream *stream, struct xdr_in *record)
{
	for (;;) {
		size_t there = stream->end - stream->next, take;
		int ret;

		if (!stream->in_fragment) {
			if (there < 4)
				return 0;
			ret = next_mark(stream, record);
			if (ret <= 0)
				return ret;
			continue;
		}
		take = MIN(stream->fragment, there);
		memmove(stream->buf + stream->base + stream->len, stream->buf + stream->next, take);
		stream->len += take;
		stream->next += take;
		stream->fragment -= take;
		if (stream->fragment > 0)
			return 0;
		stream->in_fragment = false;
		if (!stream->last)
			continue;
		*record = (struct xdr_in){.p = stream->buf + stream->base};
		record->end = record->p + stream->len;
		stream->base = stream->next;
		stream->len = 0;
		return 1;
	}
}
