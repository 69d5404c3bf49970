/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_proc.h"

#include <errno.h>

#include "lib/source/nfs/nfs_acl.h"

#define LINK_MAX_BYTES 4095

/* The steps before the call of the request itself, in req->backend.data. */
struct nfs_steps {
	struct nfs_handle at;
	const char *rest; /* of the object's path, still to be walked; "" at its end */
	bool attr_only;	  /* LOOKUP is done except for the attributes; `at` is what was found */
};

int nfs_check_object(const struct backend_request *req)
{
	if (req->op == BACKEND_LOOKUP && !req->up) {
		size_t len = strlen(req->name);

		if (len > 255)
			return -ENAMETOOLONG;
		if (!source_name_ok(req->name, len))
			return -ENOENT;
	}
	if (req->object.handle_len > 0)
		return 0;
	if (!req->object.path)
		return -ESTALE;
	return source_path_ok(req->object.path) ? 0 : -ENOENT;
}

int nfs_request_begin(const struct nfs_view *view, struct backend_request *req)
{
	struct nfs_steps *steps;

	int ret = nfs_check_object(req);

	req->backend.data = NULL;
	if (ret < 0)
		return ret;
	if (req->object.handle_len > 0)
		return req->object.handle_len <= NFS3_FHSIZE ? 0 : -ESTALE;
	steps = g_new0(struct nfs_steps, 1);
	steps->at = view->root;
	steps->rest = req->object.path + strspn(req->object.path, "/");
	req->backend.data = steps;
	return 0;
}

void nfs_request_end(struct backend_request *req)
{
	g_clear_pointer(&req->backend.data, g_free);
}

enum nfs_procedure nfs_request_procedure(const struct nfs_view *view,
					 const struct backend_request *req)
{
	const struct nfs_steps *steps = req->backend.data;

	if (steps && *steps->rest)
		return NFSPROC3_LOOKUP;
	if (steps && steps->attr_only)
		return NFSPROC3_GETATTR;
	switch (req->op) {
	case BACKEND_LOOKUP:
		return NFSPROC3_LOOKUP;
	case BACKEND_READDIR:
		return req->names_only || atomic_load(&view->no_plus) ? NFSPROC3_READDIR
								      : NFSPROC3_READDIRPLUS;
	case BACKEND_READ:
		return NFSPROC3_READ;
	case BACKEND_READLINK:
		return NFSPROC3_READLINK;
	case BACKEND_XATTRS:
		return NFSACLPROC3_GETACL;
	default:
		return NFSPROC3_GETATTR;
	}
}

static void put_name(struct xdr_out *out, const char *name)
{
	xdr_put_bytes(out, name, (uint32_t)strlen(name));
}

void nfs_request_encode(const struct backend_request *req, enum nfs_procedure procedure,
			struct xdr_out *out)
{
	const struct nfs_steps *steps = req->backend.data;

	if (steps)
		xdr_put_bytes(out, steps->at.bytes, steps->at.len);
	else
		xdr_put_bytes(out, req->object.handle, req->object.handle_len);
	switch (procedure) {
	case NFSPROC3_LOOKUP:
		if (steps && *steps->rest)
			xdr_put_bytes(out, steps->rest, (uint32_t)strcspn(steps->rest, "/"));
		else
			put_name(out, req->up ? ".." : req->name);
		break;
	case NFSPROC3_READ:
		xdr_put_u64(out, req->offset);
		xdr_put_u32(out, MIN(req->count, NFS_READ_MAX));
		break;
	case NFSPROC3_READDIR:
		xdr_put_u64(out, req->cookie);
		xdr_put_u64(out, req->verf);
		xdr_put_u32(out, NFS_DIR_COUNT);
		break;
	case NFSPROC3_READDIRPLUS:
		xdr_put_u64(out, req->cookie);
		xdr_put_u64(out, req->verf);
		xdr_put_u32(out, NFS_DIR_COUNT);
		xdr_put_u32(out, NFS_DIR_MAX);
		break;
	case NFSACLPROC3_GETACL:
		nfsacl_encode(out);
		break;
	default:
		break;
	}
}

static int decode_getattr(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	struct nfs_steps *steps = req->backend.data;
	int status = nfs_status(xdr_get_u32(in));
	uint64_t fs;

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	if (!nfs_get_attr(in, &fs, &req->attr))
		return -EBADMSG;
	nfs_root_seen(view, req, fs);
	req->attr.fileid = nfs_fileid(view, req->attr.number, fs);
	req->has_attr = true;
	if (steps) {
		req->handle_len = steps->at.len;
		memcpy(req->handle, steps->at.bytes, steps->at.len);
		req->attr.object = nfs_object(view, steps->at.bytes, steps->at.len);
	}
	return 0;
}

/* A component of the object's path was found. */
static int walked_one(struct backend_request *req, const struct nfs_handle *found)
{
	struct nfs_steps *steps = req->backend.data;

	steps->at = *found;
	steps->rest += strcspn(steps->rest, "/");
	steps->rest += strspn(steps->rest, "/");
	return NFS_CALL_AGAIN;
}

static int decode_lookup(const struct nfs_view *view, struct backend_request *req,
			 struct xdr_in *in)
{
	struct nfs_steps *steps = req->backend.data;
	int status = nfs_status(xdr_get_u32(in));
	struct nfs_handle found;

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	if (!nfs_get_handle(in, &found))
		return -EBADMSG;
	if (steps && *steps->rest)
		return walked_one(req, &found);
	req->handle_len = found.len;
	memcpy(req->handle, found.bytes, found.len);
	req->has_attr = nfs_get_post_attr(view, in, &req->attr);
	req->attr.object = nfs_object(view, found.bytes, found.len);
	if (req->has_attr)
		return 0;
	if (!steps)
		req->backend.data = steps = g_new0(struct nfs_steps, 1);
	*steps = (struct nfs_steps){.at = found, .rest = "", .attr_only = true};
	return NFS_CALL_AGAIN;
}

int nfs_end_read(struct backend_request *req, uint32_t asked)
{
	/* Nothing, and not the end: asking again would never end. */
	if (req->data_len == 0 && asked > 0 && !req->eof) {
		if (!req->has_attr || req->offset < req->attr.size)
			return -EBADMSG;
		req->eof = true;
	}
	return 0;
}

static int decode_read(const struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	int status = nfs_status(xdr_get_u32(in));
	uint32_t count, asked = MIN(req->count, NFS_READ_MAX);

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	req->has_attr = nfs_get_post_attr(view, in, &req->attr);
	count = xdr_get_u32(in);
	req->eof = xdr_get_u32(in) != 0;
	req->data = xdr_get_bytes(in, &req->data_len);
	if (in->bad || req->data_len > asked || req->data_len != count)
		return -EBADMSG;
	return nfs_end_read(req, asked);
}

int nfs_get_target(struct backend_request *req, struct xdr_in *in)
{
	uint32_t len;
	const uint8_t *target = xdr_get_bytes(in, &len);

	if (in->bad || len == 0 || len > LINK_MAX_BYTES || memchr(target, '\0', len))
		return -EBADMSG;
	req->text = g_strndup((const char *)target, len);
	return 0;
}

static int decode_readlink(const struct nfs_view *view, struct backend_request *req,
			   struct xdr_in *in)
{
	int status = nfs_status(xdr_get_u32(in));

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	req->has_attr = nfs_get_post_attr(view, in, &req->attr);
	return nfs_get_target(req, in);
}

void nfs_add_entry(struct backend_request *req, const uint8_t *name, uint32_t len,
		   struct source_entry *entry)
{
	/* its LOOKUP says which object it is */
	if (entry->has_attr && !entry->handle_len && entry->attr.nlink > 1 &&
	    !S_ISDIR(entry->attr.mode))
		entry->has_attr = false;
	if (len > 0 && len <= 2 && memcmp(name, "..", len) == 0)
		return;
	backend_batch_add(req->batch, (const char *)name, len, entry);
}

/* One entry; returns its cookie. */
static uint64_t decode_entry(const struct nfs_view *view, struct backend_request *req, bool plus,
			     struct xdr_in *in)
{
	struct source_entry entry;
	const uint8_t *name;
	uint64_t fileid, cookie;
	uint32_t len;

	entry.has_attr = entry.has_handle = false;
	entry.handle_len = 0;
	fileid = xdr_get_u64(in);
	name = xdr_get_bytes(in, &len);
	cookie = xdr_get_u64(in);
	if (plus) {
		struct nfs_handle handle = {0};

		entry.has_attr = nfs_get_post_attr(view, in, &entry.attr);
		if (xdr_get_u32(in))
			entry.has_handle = nfs_get_handle(in, &handle);
		entry.handle_len = handle.len;
		memcpy(entry.handle, handle.bytes, handle.len);
		entry.attr.object = nfs_object(view, handle.bytes, handle.len);
	}
	if (!entry.has_attr)
		entry.attr = (struct source_attr){.fileid = fileid};
	entry.cookie = cookie;
	if (!in->bad)
		nfs_add_entry(req, name, len, &entry);
	return cookie;
}

int nfs_end_listing(struct backend_request *req, unsigned n, uint64_t cookie, uint64_t verf,
		    struct xdr_in *in)
{
	req->eof = xdr_get_u32(in) != 0;
	/* A listing that does not get on would never end. */
	if (in->bad || (!req->eof && (n == 0 || cookie == 0 || cookie == req->cookie)))
		return -EBADMSG;
	req->cookie = cookie;
	req->verf = verf;
	return 0;
}

static int decode_readdir(struct nfs_view *view, struct backend_request *req, bool plus,
			  struct xdr_in *in)
{
	int status = nfs_status(xdr_get_u32(in));
	uint64_t verf, cookie = req->cookie;
	unsigned n = 0;

	if (in->bad)
		return -EBADMSG;
	if (status < 0)
		return status;
	nfs_get_own_attr(view, in, req);
	verf = xdr_get_u64(in);
	req->batch = backend_batch_new();
	while (xdr_get_u32(in) && !in->bad) {
		cookie = decode_entry(view, req, plus, in);
		n++;
	}
	return nfs_end_listing(req, n, cookie, verf, in);
}

static int decode_readdirplus(struct nfs_view *view, struct backend_request *req, int rpc,
			      struct xdr_in *in)
{
	int status = rpc < 0 ? rpc : decode_readdir(view, req, true, in);
	bool garbled = status == -EBADMSG && (rpc < 0 || in->bad);

	if (status != -ENOTSUP && !garbled)
		return status;
	g_clear_pointer(&req->batch, backend_batch_free);
	req->has_attr = false;
	atomic_store(&view->no_plus, true);
	return NFS_CALL_AGAIN;
}

int nfs_request_decode(struct nfs_view *view, struct backend_request *req,
		       enum nfs_procedure procedure, int rpc, struct xdr_in *in)
{
	if (procedure == NFSPROC3_READDIRPLUS)
		return decode_readdirplus(view, req, rpc, in);
	if (procedure == NFSACLPROC3_GETACL)
		return nfsacl_decode(view, req, rpc, in);
	if (rpc < 0)
		return rpc;
	switch (procedure) {
	case NFSPROC3_LOOKUP:
		return decode_lookup(view, req, in);
	case NFSPROC3_READ:
		return decode_read(view, req, in);
	case NFSPROC3_READLINK:
		return decode_readlink(view, req, in);
	case NFSPROC3_READDIR:
		return decode_readdir(view, req, false, in);
	default:
		return decode_getattr(view, req, in);
	}
}
