/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_session.h"

#include <errno.h>

#define SESSION_ID_BYTES 16
#define RECLAIM_NEEDED	 0x100u /* SEQ4_STATUS_RESTART_RECLAIM_NEEDED */
#define MAX_REQUEST	 4096u
#define MAX_CACHED	 1024u

int nfs4_status(uint32_t status)
{
	switch (status) {
	case NFS4ERR_GRACE:
	case NFS4ERR_RESOURCE:
		return -EAGAIN;
	case NFS4ERR_FHEXPIRED:
		return -ESTALE;
	case NFS4ERR_WRONGSEC:
		return -ENOKEY;
	case NFS4ERR_MOVED:
		return -EREMOTE;
	case NFS4ERR_MINOR_VERS_MISMATCH:
	case NFS4ERR_OP_ILLEGAL:
		return -ENOTSUP;
	case NFS4ERR_NOT_SAME:
	case NFS4ERR_BADXDR:
		return -EBADMSG;
	case NFS4ERR_SYMLINK:
		return -ENOTDIR;
	case NFS4ERR_BADCHAR:
	case NFS4ERR_BADNAME:
		return -ENOENT;
	default: /* what version 3 has, too, has the same numbers */
		return nfs_status(status);
	}
}

static void put_compound(struct xdr_out *out, uint32_t minor, uint32_t ops)
{
	xdr_put_u32(out, 0); /* no tag */
	xdr_put_u32(out, minor);
	xdr_put_u32(out, ops);
}

/* Up to the first operation's result; the compound's own status repeats the last of these. */
static int get_compound(struct xdr_in *in)
{
	uint32_t status = xdr_get_u32(in), len;

	xdr_get_bytes(in, &len);
	xdr_get_u32(in);
	if (in->bad)
		return -EBADMSG;
	return status == NFS4ERR_MINOR_VERS_MISMATCH ? -ENOTSUP : 0;
}

int nfs4_get_op(struct xdr_in *in, enum nfs4_op op, uint32_t *status)
{
	uint32_t got = xdr_get_u32(in);

	*status = xdr_get_u32(in);
	return in->bad || got != (uint32_t)op ? -EBADMSG : nfs4_status(*status);
}

void nfs4_put_fixed(struct xdr_out *out, const uint8_t *bytes, size_t len)
{
	if (out->bad || (size_t)(out->end - out->p) < len) {
		out->bad = true;
		return;
	}
	memcpy(out->p, bytes, len);
	out->p += len;
}

void nfs4_put_current(struct xdr_out *out, uint32_t seqid)
{
	xdr_put_u32(out, seqid);
	for (unsigned i = 0; i < 3; i++)
		xdr_put_u32(out, 0);
}

/* ---- setup ---- */

static void fill_random(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)g_random_int();
}

void nfs4_reset(struct nfs4_session *session)
{
	static const uint8_t none[sizeof(session->owner)];

	session->state = NFS4_NO_CLIENT;
	session->slots = 0;
	session->settled = false;
	/* The client is the same, started anew: the server drops the state that it had for it. */
	fill_random(session->verifier, sizeof(session->verifier));
	if (memcmp(session->owner, none, sizeof(none)) == 0)
		fill_random(session->owner, sizeof(session->owner));
}

static void put_channel(struct xdr_out *out, uint32_t requests)
{
	xdr_put_u32(out, 0);
	xdr_put_u32(out, MAX_REQUEST);
	xdr_put_u32(out, RPC_RECORD_MAX);
	xdr_put_u32(out, MAX_CACHED);
	xdr_put_u32(out, NFS4_OPS_MAX);
	xdr_put_u32(out, requests);
	xdr_put_u32(out, 0); /* no RDMA */
}

static void put_exchange(const struct nfs4_session *session, struct xdr_out *out)
{
	put_compound(out, session->minor, 1);
	xdr_put_u32(out, OP_EXCHANGE_ID);
	nfs4_put_fixed(out, session->verifier, sizeof(session->verifier));
	xdr_put_bytes(out, session->owner, sizeof(session->owner));
	xdr_put_u32(out, 0); /* flags */
	xdr_put_u32(out, 0); /* SP4_NONE */
	xdr_put_u32(out, 0); /* no name of an implementation */
}

static void put_create(const struct nfs4_session *session, struct xdr_out *out)
{
	put_compound(out, session->minor, 1);
	xdr_put_u32(out, OP_CREATE_SESSION);
	xdr_put_u64(out, session->client);
	xdr_put_u32(out, session->create_sequence);
	xdr_put_u32(out, 0); /* flags: it need not outlive the server */
	put_channel(out, NFS4_SLOTS_MAX);
	put_channel(out, 1);
	xdr_put_u32(out, 0x40000000); /* a program for callbacks, which are never made */
	xdr_put_u32(out, 1);
	xdr_put_u32(out, 0); /* AUTH_NONE for callbacks */
}

static void put_sequence(struct xdr_out *out, const struct nfs4_session *session, unsigned slot)
{
	xdr_put_u32(out, OP_SEQUENCE);
	nfs4_put_fixed(out, session->id, sizeof(session->id));
	xdr_put_u32(out, session->sequence[slot]);
	xdr_put_u32(out, slot);
	xdr_put_u32(out, session->slots - 1);
	xdr_put_u32(out, 0); /* all that is asked for here can be asked for twice */
}

void nfs4_encode_setup(const struct nfs4_session *session, struct xdr_out *out)
{
	if (session->minor == 0) {
		put_compound(out, 0, 1);
		xdr_put_u32(out, OP_PUTROOTFH);
		return;
	}
	switch (session->state) {
	case NFS4_NO_CLIENT:
		put_exchange(session, out);
		break;
	case NFS4_NO_SESSION:
		put_create(session, out);
		break;
	default:
		put_compound(out, session->minor, 2);
		put_sequence(out, session, 0);
		xdr_put_u32(out, OP_RECLAIM_COMPLETE);
		xdr_put_u32(out, 0); /* of all file systems */
	}
}

static int get_client(struct nfs4_session *session, struct xdr_in *in)
{
	session->client = xdr_get_u64(in);
	session->create_sequence = xdr_get_u32(in);
	if (in->bad)
		return -EBADMSG;
	session->state = NFS4_NO_SESSION;
	return 0;
}

static int get_session(struct nfs4_session *session, struct xdr_in *in)
{
	const uint8_t *id = in->p;
	uint32_t requests;

	xdr_skip(in, SESSION_ID_BYTES + 4 + 4);
	xdr_skip(in, 2 * 4);
	session->max_reply = xdr_get_u32(in);
	xdr_skip(in, 4);
	session->max_ops = xdr_get_u32(in);
	requests = xdr_get_u32(in);
	if (in->bad || requests == 0)
		return -EBADMSG;
	memcpy(session->id, id, sizeof(session->id));
	session->slots = MIN(requests, NFS4_SLOTS_MAX);
	session->max_ops = MIN(session->max_ops, NFS4_OPS_MAX);
	for (unsigned i = 0; i < NFS4_SLOTS_MAX; i++)
		session->sequence[i] = 1;
	session->state = session->opens ? NFS4_UNCLAIMED : NFS4_READY;
	return 0;
}

/* The server speaks version 4.0, whatever status it gives for its root. */
static int get_answer(struct nfs4_session *session, struct xdr_in *in)
{
	uint32_t status;
	int ret = nfs4_get_op(in, OP_PUTROOTFH, &status);

	if (ret == -EBADMSG || ret == -EAGAIN)
		return ret;
	session->max_reply = RPC_RECORD_MAX;
	session->max_ops = NFS4_OPS_MAX;
	session->slots = NFS4_SLOTS_MAX;
	session->state = NFS4_READY;
	return 0;
}

/* SEQUENCE's result. */
static int get_sequence(struct nfs4_session *session, unsigned slot, struct xdr_in *in)
{
	uint32_t status;
	int ret = nfs4_get_op(in, OP_SEQUENCE, &status);
	bool reclaim;

	switch (status) {
	case NFS4ERR_REQ_TOO_BIG:
	case NFS4ERR_REP_TOO_BIG:
	case NFS4ERR_REP_TOO_BIG_TO_CACHE:
	case NFS4ERR_TOO_MANY_OPS:
		return ret == -EBADMSG ? ret : -EREMOTEIO;
	}
	if (ret == -EBADMSG || status == NFS4ERR_DELAY)
		return ret;
	if (ret < 0)
		return NFS_CALL_RESET;
	xdr_skip(in, SESSION_ID_BYTES + 4 * 4);
	reclaim = xdr_get_u32(in) & RECLAIM_NEEDED;
	session->sequence[slot]++;
	if (in->bad)
		return -EBADMSG;
	/* once: a server may set the flag whatever the client does */
	if (reclaim && session->settled)
		return NFS_CALL_RESET;
	session->settled |= !reclaim && session->state == NFS4_READY;
	return 0;
}

static int get_reclaimed(struct nfs4_session *session, struct xdr_in *in)
{
	int ret = get_sequence(session, 0, in);
	uint32_t status;

	if (ret != 0)
		return ret < 0 ? ret : -EREMOTEIO;
	/* Any other status means, too, that the server has nothing to be reclaimed. */
	ret = nfs4_get_op(in, OP_RECLAIM_COMPLETE, &status);
	if (ret == -EBADMSG || ret == -EAGAIN)
		return ret;
	session->state = NFS4_READY;
	return 0;
}

int nfs4_decode_setup(struct nfs4_session *session, int rpc, struct xdr_in *in)
{
	static const enum nfs4_op ops[] = {OP_EXCHANGE_ID, OP_CREATE_SESSION};
	uint32_t status;
	int ret;

	/* At open it is found out whether the server speaks that version: a program that is not
	 * there then will not come. */
	if (rpc == -EAGAIN)
		rpc = -ENOTSUP;
	ret = rpc < 0 ? rpc : get_compound(in);
	if (ret == 0 && session->minor == 0)
		return get_answer(session, in);
	if (ret == 0 && session->state == NFS4_UNCLAIMED)
		return get_reclaimed(session, in);
	if (ret == 0)
		ret = nfs4_get_op(in, ops[session->state != NFS4_NO_CLIENT], &status);
	if (ret == -ENOTSUP)
		session->state = NFS4_REFUSED;
	if (ret < 0)
		return ret;
	return session->state == NFS4_NO_CLIENT ? get_client(session, in)
						: get_session(session, in);
}

/* ---- calls ---- */

void nfs4_put_start(struct xdr_out *out, const struct nfs4_session *session, unsigned slot,
		    const uint8_t *handle, uint32_t len, uint32_t n)
{
	put_compound(out, session->minor, (session->minor ? 2 : 1) + n);
	if (session->minor)
		put_sequence(out, session, slot);
	if (handle) {
		xdr_put_u32(out, OP_PUTFH);
		xdr_put_bytes(out, handle, len);
	} else {
		xdr_put_u32(out, OP_PUTROOTFH);
	}
}

int nfs4_get_start(struct nfs4_session *session, unsigned slot, bool root, int rpc,
		   struct xdr_in *in)
{
	uint32_t status;
	int ret = rpc < 0 ? rpc : get_compound(in);

	/* No version 4 any more: a new session is refused, then. */
	if (ret < 0)
		return ret == -ENOTSUP || ret == -EAGAIN ? NFS_CALL_RESET : ret;
	ret = session->minor ? get_sequence(session, slot, in) : 0;
	return ret != 0 ? ret : nfs4_get_op(in, root ? OP_PUTROOTFH : OP_PUTFH, &status);
}
