/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_v4.h"

#include <errno.h>

#define MINOR_VERSION 2

enum nfs4_op {
	OP_GETATTR = 9,
	OP_PUTFH = 22,
	OP_EXCHANGE_ID = 42,
	OP_CREATE_SESSION = 43,
	OP_SEQUENCE = 53,
	OP_GETXATTR = 72,
	OP_LISTXATTRS = 74,
};

enum {
	NFS4ERR_DELAY = 10008,
	NFS4ERR_MINOR_VERS_MISMATCH = 10021,
	NFS4ERR_REP_TOO_BIG = 10066,
	NFS4ERR_NOXATTR = 10095,
	NFS4ERR_XATTR2BIG = 10096,
};

/* Attributes, by number (RFC 8881 section 5, RFC 8276 section 8.2). */
#define FATTR4_FILEID	     20
#define FATTR4_XATTR_SUPPORT 82

#define SESSION_ID_BYTES 16
#define MAX_REQUEST	 4096u
#define MAX_RESPONSE	 (65536u + 4096u) /* the longest value there is */
#define MAX_CACHED	 1024u
#define MAX_OPS		 8u
#define LIST_BYTES	 65536u /* of names in one reply, and in all */
#define VALUE_BYTES	 65536u
#define VALUES_BYTES	 (1u << 20) /* of all together */
#define PREFIX		 "user."

/* What a request has come to, in req->backend_data. */
struct nfs4_steps {
	GPtrArray *names; /* char *, with the prefix */
	size_t bytes;	  /* of all that were listed */
	size_t kept;	  /* bytes of values */
	uint64_t cookie;
	bool listed;
	guint next; /* the name to ask for, then */
};

static void put_compound(struct xdr_out *out, uint32_t ops)
{
	xdr_put_u32(out, 0); /* no tag */
	xdr_put_u32(out, MINOR_VERSION);
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

/* An operation's number and status; -EBADMSG when it is another one's. */
static int get_op(struct xdr_in *in, enum nfs4_op op, uint32_t *status)
{
	uint32_t got = xdr_get_u32(in);

	*status = xdr_get_u32(in);
	return in->bad || got != (uint32_t)op ? -EBADMSG : nfs_status(*status);
}

static void put_fixed(struct xdr_out *out, const uint8_t *bytes, size_t len)
{
	if (out->bad || (size_t)(out->end - out->p) < len) {
		out->bad = true;
		return;
	}
	memcpy(out->p, bytes, len);
	out->p += len;
}

/* ---- the session ---- */

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
	/* The same client, started anew: the server drops what it had of it. */
	fill_random(session->verifier, sizeof(session->verifier));
	if (memcmp(session->owner, none, sizeof(none)) == 0)
		fill_random(session->owner, sizeof(session->owner));
}

static void put_channel(struct xdr_out *out, uint32_t requests)
{
	xdr_put_u32(out, 0);
	xdr_put_u32(out, MAX_REQUEST);
	xdr_put_u32(out, MAX_RESPONSE);
	xdr_put_u32(out, MAX_CACHED);
	xdr_put_u32(out, MAX_OPS);
	xdr_put_u32(out, requests);
	xdr_put_u32(out, 0); /* no RDMA */
}

void nfs4_encode_setup(const struct nfs4_session *session, struct xdr_out *out)
{
	put_compound(out, 1);
	if (session->state == NFS4_NO_CLIENT) {
		xdr_put_u32(out, OP_EXCHANGE_ID);
		put_fixed(out, session->verifier, sizeof(session->verifier));
		xdr_put_bytes(out, session->owner, sizeof(session->owner));
		xdr_put_u32(out, 0); /* flags */
		xdr_put_u32(out, 0); /* SP4_NONE */
		xdr_put_u32(out, 0); /* no name of an implementation */
		return;
	}
	xdr_put_u32(out, OP_CREATE_SESSION);
	xdr_put_u64(out, session->client);
	xdr_put_u32(out, session->create_sequence);
	xdr_put_u32(out, 0); /* flags */
	put_channel(out, NFS4_SLOTS_MAX);
	put_channel(out, 1);
	xdr_put_u32(out, 0x40000000); /* a program for callbacks, of which there are none */
	xdr_put_u32(out, 1);
	xdr_put_u32(out, 0); /* AUTH_NONE for them */
}

static int get_session(struct nfs4_session *session, struct xdr_in *in)
{
	const uint8_t *id = in->p;
	uint32_t requests;

	xdr_skip(in, SESSION_ID_BYTES + 4 + 4);
	xdr_skip(in, 5 * 4);
	requests = xdr_get_u32(in);
	if (in->bad || requests == 0)
		return -EBADMSG;
	memcpy(session->id, id, sizeof(session->id));
	session->slots = MIN(requests, NFS4_SLOTS_MAX);
	for (unsigned i = 0; i < NFS4_SLOTS_MAX; i++)
		session->sequence[i] = 1;
	session->state = NFS4_READY;
	return 0;
}

int nfs4_decode_setup(struct nfs4_session *session, int rpc, struct xdr_in *in)
{
	bool exchange = session->state == NFS4_NO_CLIENT;
	uint32_t status;
	int ret;

	/* It answers version 3: a version that is not there now will not come. */
	if (rpc == -EAGAIN)
		rpc = -ENOTSUP;
	ret = rpc < 0 ? rpc : get_compound(in);
	if (ret == 0)
		ret = get_op(in, exchange ? OP_EXCHANGE_ID : OP_CREATE_SESSION, &status);
	if (ret == -ENOTSUP)
		session->state = NFS4_REFUSED;
	if (ret < 0)
		return ret;
	if (!exchange)
		return get_session(session, in);
	session->client = xdr_get_u64(in);
	session->create_sequence = xdr_get_u32(in);
	if (in->bad)
		return -EBADMSG;
	session->state = NFS4_NO_SESSION;
	return 0;
}

/* What every call starts with, before n further operations. */
static void put_start(struct xdr_out *out, const struct nfs4_session *session, unsigned slot,
		      const uint8_t *handle, uint32_t len, uint32_t n)
{
	put_compound(out, 2 + n);
	xdr_put_u32(out, OP_SEQUENCE);
	put_fixed(out, session->id, sizeof(session->id));
	xdr_put_u32(out, session->sequence[slot]);
	xdr_put_u32(out, slot);
	xdr_put_u32(out, session->slots - 1);
	xdr_put_u32(out, 0); /* all that is asked for here can be asked for twice */
	xdr_put_u32(out, OP_PUTFH);
	xdr_put_bytes(out, handle, len);
}

/* Up to the first of the further ones. */
static int get_start(struct nfs4_session *session, unsigned slot, int rpc, struct xdr_in *in)
{
	uint32_t status;
	int ret = rpc < 0 ? rpc : get_compound(in);

	/* No version 4 any more: a new session is refused, then. */
	if (ret < 0)
		return ret == -ENOTSUP || ret == -EAGAIN ? NFS_CALL_RESET : ret;
	ret = get_op(in, OP_SEQUENCE, &status);
	if (ret == -EBADMSG || status == NFS4ERR_DELAY)
		return ret;
	if (ret < 0)
		return NFS_CALL_RESET;
	xdr_skip(in, SESSION_ID_BYTES + 5 * 4);
	session->sequence[slot]++;
	return get_op(in, OP_PUTFH, &status);
}

/* ---- the proof ---- */

void nfs4_encode_proof(const struct nfs4_session *session, const struct nfs_handle *handle,
		       struct xdr_out *out)
{
	put_start(out, session, 0, handle->bytes, handle->len, 1);
	xdr_put_u32(out, OP_GETATTR);
	xdr_put_u32(out, 3);
	xdr_put_u32(out, UINT32_C(1) << FATTR4_FILEID);
	xdr_put_u32(out, 0);
	xdr_put_u32(out, UINT32_C(1) << (FATTR4_XATTR_SUPPORT - 64));
}

int nfs4_decode_proof(struct nfs4_session *session, uint64_t fileid, int rpc, struct xdr_in *in)
{
	const uint32_t expected[3] = {UINT32_C(1) << FATTR4_FILEID, 0,
				      UINT32_C(1) << (FATTR4_XATTR_SUPPORT - 64)};
	int ret = get_start(session, 0, rpc, in);
	uint32_t status;
	bool same;

	/* A handle of another kind. */
	if (ret == -ESTALE)
		return -ENOTSUP;
	if (ret == 0)
		ret = get_op(in, OP_GETATTR, &status);
	if (ret != 0)
		return ret == NFS_CALL_RESET ? -EREMOTEIO : ret;
	same = xdr_get_u32(in) == 3;
	for (unsigned i = 0; i < 3; i++)
		same &= xdr_get_u32(in) == expected[i];
	xdr_get_u32(in); /* length: 8 + 4 */
	same &= xdr_get_u64(in) == fileid;
	same &= xdr_get_u32(in) == 1;
	return same && !in->bad ? 0 : -ENOTSUP;
}

/* ---- requests ---- */

int nfs4_request_begin(const struct nfs4_session *session, struct backend_request *req)
{
	struct nfs4_steps *steps;

	req->backend_data = NULL;
	if (session->state != NFS4_READY)
		return -EREMOTEIO;
	if (req->object.handle_len == 0 || req->object.handle_len > NFS3_FHSIZE)
		return -ESTALE;
	steps = g_new0(struct nfs4_steps, 1);
	steps->names = g_ptr_array_new_with_free_func(g_free);
	req->backend_data = steps;
	req->xattrs = source_xattrs_new();
	return 0;
}

void nfs4_request_end(struct backend_request *req)
{
	struct nfs4_steps *steps = req->backend_data;

	if (!steps)
		return;
	g_ptr_array_unref(steps->names);
	g_free(steps);
	req->backend_data = NULL;
}

static const char *next_name(const struct nfs4_steps *steps)
{
	return steps->names->pdata[steps->next];
}

void nfs4_request_encode(const struct nfs4_session *session, unsigned slot,
			 const struct backend_request *req, struct xdr_out *out)
{
	const struct nfs4_steps *steps = req->backend_data;

	put_start(out, session, slot, req->object.handle, req->object.handle_len, 1);
	if (!steps->listed) {
		xdr_put_u32(out, OP_LISTXATTRS);
		xdr_put_u64(out, steps->cookie);
		xdr_put_u32(out, LIST_BYTES);
	} else {
		const char *name = next_name(steps) + strlen(PREFIX);

		xdr_put_u32(out, OP_GETXATTR);
		xdr_put_bytes(out, name, (uint32_t)strlen(name));
	}
}

static int after_list(struct nfs4_steps *steps)
{
	steps->listed = true;
	return steps->names->len > 0 ? NFS_CALL_AGAIN : 0;
}

static int add_name(struct backend_request *req, const uint8_t *name, uint32_t len)
{
	struct nfs4_steps *steps = req->backend_data;

	/* As the kernel counts them; those that cannot be here too, of which there may be no end.
	 */
	steps->bytes += sizeof(PREFIX) + len;
	if (steps->bytes > LIST_BYTES)
		return -E2BIG;
	if (len == 0 || len > 255 - strlen(PREFIX) || memchr(name, '\0', len)) {
		source_xattrs_lose(req->xattrs, "a user extended attribute: its name is not "
						"possible here");
		return 0;
	}
	g_ptr_array_add(steps->names, g_strdup_printf("%s%.*s", PREFIX, (int)len, name));
	return 0;
}

static int decode_list(struct backend_request *req, struct xdr_in *in)
{
	struct nfs4_steps *steps = req->backend_data;
	uint64_t cookie;
	uint32_t status, n;
	int ret = get_op(in, OP_LISTXATTRS, &status);
	bool eof;

	/* A file system without them. */
	if (ret == -ENOTSUP)
		return after_list(steps);
	if (ret < 0)
		return ret;
	cookie = xdr_get_u64(in);
	n = xdr_get_u32(in);
	for (uint32_t i = 0; i < n && !in->bad && ret == 0; i++) {
		uint32_t len;
		const uint8_t *name = xdr_get_bytes(in, &len);

		if (name)
			ret = add_name(req, name, len);
	}
	if (ret == -E2BIG) {
		source_xattrs_lose(req->xattrs, "user extended attributes: there are more than can "
						"be listed");
		return after_list(steps);
	}
	eof = xdr_get_u32(in) != 0;
	/* A listing that does not get on would never end. */
	if (in->bad || (!eof && (n == 0 || cookie == steps->cookie)))
		return -EBADMSG;
	steps->cookie = cookie;
	return eof ? after_list(steps) : NFS_CALL_AGAIN;
}

static int decode_value(struct backend_request *req, struct xdr_in *in)
{
	struct nfs4_steps *steps = req->backend_data;
	const char *name = next_name(steps);
	const uint8_t *value;
	uint32_t status, len;
	int ret = get_op(in, OP_GETXATTR, &status);

	if (ret == -EBADMSG || ret == -EAGAIN || ret == -ESTALE)
		return ret;
	if (ret == 0) {
		value = xdr_get_bytes(in, &len);
		if (in->bad)
			return -EBADMSG;
		if (len <= VALUE_BYTES && len <= VALUES_BYTES - steps->kept) {
			source_xattrs_add(req->xattrs, name, value, len);
			steps->kept += len;
		} else {
			status = NFS4ERR_XATTR2BIG;
		}
	}
	if (status == NFS4ERR_XATTR2BIG || status == NFS4ERR_REP_TOO_BIG)
		source_xattrs_lose(req->xattrs, "%s: too large", name);
	else if (ret < 0 && status != NFS4ERR_NOXATTR)
		source_xattrs_lose(req->xattrs, "%s: cannot be read: %s", name, g_strerror(-ret));
	return ++steps->next < steps->names->len ? NFS_CALL_AGAIN : 0;
}

int nfs4_request_decode(struct nfs4_session *session, unsigned slot, struct backend_request *req,
			int rpc, struct xdr_in *in)
{
	const struct nfs4_steps *steps = req->backend_data;
	int ret = get_start(session, slot, rpc, in);

	if (ret != 0)
		return ret;
	return steps->listed ? decode_value(req, in) : decode_list(req, in);
}
