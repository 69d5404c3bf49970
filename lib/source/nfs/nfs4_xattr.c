/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_xattr.h"

#include <errno.h>

/* Attributes, by number (RFC 8881 section 5, RFC 8276 section 8.2). */
#define FATTR4_FILEID	     20
#define FATTR4_XATTR_SUPPORT 82

#define LIST_BYTES   65536u /* of names in one reply, and in all */
#define VALUE_BYTES  65536u
#define VALUES_BYTES (1u << 20) /* of all together */
#define PREFIX	     "user."

/* What a request has come to, in req->backend.data. */
struct nfs4_steps {
	GPtrArray *names; /* char *, with the prefix */
	size_t bytes;	  /* of all that were listed */
	size_t kept;	  /* bytes of values */
	uint64_t cookie;
	bool listed;
	guint next; /* the name to ask for, then */
};

/* ---- the proof ---- */

void nfs4_encode_proof(const struct nfs4_session *session, const struct nfs_handle *handle,
		       struct xdr_out *out)
{
	nfs4_put_start(out, session, 0, handle->bytes, handle->len, 1);
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
	int ret = nfs4_get_start(session, 0, false, rpc, in);
	uint32_t status;
	bool same;

	/* A handle of another kind. */
	if (ret == -ESTALE)
		return -ENOTSUP;
	if (ret == 0)
		ret = nfs4_get_op(in, OP_GETATTR, &status);
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

int nfs4_xattr_begin(const struct nfs4_session *session, struct backend_request *req)
{
	struct nfs4_steps *steps;

	req->backend.data = NULL;
	if (session->state != NFS4_READY)
		return -EREMOTEIO;
	if (req->object.handle_len == 0 || req->object.handle_len > NFS4_FHSIZE)
		return -ESTALE;
	steps = g_new0(struct nfs4_steps, 1);
	steps->names = g_ptr_array_new_with_free_func(g_free);
	req->backend.data = steps;
	req->xattrs = source_xattrs_new();
	return 0;
}

void nfs4_xattr_end(struct backend_request *req)
{
	struct nfs4_steps *steps = req->backend.data;

	if (!steps)
		return;
	g_ptr_array_unref(steps->names);
	g_free(steps);
	req->backend.data = NULL;
}

static const char *next_name(const struct nfs4_steps *steps)
{
	return steps->names->pdata[steps->next];
}

void nfs4_xattr_encode(const struct nfs4_session *session, unsigned slot,
		       const struct backend_request *req, struct xdr_out *out)
{
	const struct nfs4_steps *steps = req->backend.data;

	nfs4_put_start(out, session, slot, req->object.handle, req->object.handle_len, 1);
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

static int add_xattr_name(struct backend_request *req, const uint8_t *name, uint32_t len)
{
	struct nfs4_steps *steps = req->backend.data;

	/* Counts the bytes as the kernel does, also of names that cannot be here: a server may list
	 * any number of them.
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
	struct nfs4_steps *steps = req->backend.data;
	uint64_t cookie;
	uint32_t status, n;
	int ret = nfs4_get_op(in, OP_LISTXATTRS, &status);
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
			ret = add_xattr_name(req, name, len);
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
	struct nfs4_steps *steps = req->backend.data;
	const char *name = next_name(steps);
	const uint8_t *value;
	uint32_t status, len;
	int ret = nfs4_get_op(in, OP_GETXATTR, &status);

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

int nfs4_xattr_decode(struct nfs4_session *session, unsigned slot, struct backend_request *req,
		      int rpc, struct xdr_in *in)
{
	const struct nfs4_steps *steps = req->backend.data;
	int ret = nfs4_get_start(session, slot, false, rpc, in);

	if (ret != 0)
		return ret == -ENOKEY ? -EACCES : ret;
	return steps->listed ? decode_value(req, in) : decode_list(req, in);
}
