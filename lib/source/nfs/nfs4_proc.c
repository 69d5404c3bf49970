/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_proc.h"

#include <errno.h>

#include "lib/base/text.h"
#include "lib/source/nfs/nfs4_holes.h"
#include "lib/source/nfs/nfs4_owner.h"
#include "lib/source/nfs/nfs4_walk.h"

/* READ_HOLE: all there is behind the offset. */
enum read_step {
	READ_ANONYMOUS,
	READ_SEEK,
	READ_SEEK_OPENED,
	READ_HOLE,
	READ_OPENED,
	READ_TO_CLOSE
};

/* What a request has come to, in req->backend.data. */
struct steps {
	struct nfs4_walk walk;
	enum read_step read;
	uint8_t stateid[NFS4_STATEID_LEN]; /* to be closed, and then ... */
	int status;			   /* ... the request's status, or NFS_CALL_AGAIN ... */
	enum read_step next;		   /* ... and this step */
};

static bool asks_for_hole(const struct nfs_view *view, const struct backend_request *req)
{
	return req->op == BACKEND_READ && req->holes && req->count >= NFS4_HOLE_MIN &&
	       !atomic_load(&view->no_seek) &&
	       nfs4_holes_likely(view->holes, req->object.handle, req->object.handle_len);
}

static enum read_step data_step(const struct nfs_view *view)
{
	return atomic_load(&view->opens) ? READ_OPENED : READ_ANONYMOUS;
}

static enum read_step hole_step(const struct nfs_view *view)
{
	return atomic_load(&view->opens) || atomic_load(&view->seeks_opened) ? READ_SEEK_OPENED
									     : READ_SEEK;
}

int nfs4_request_begin(const struct nfs_view *view, struct backend_request *req)
{
	int ret = req->up ? -ENOTSUP : nfs_check_object(req);
	struct steps *steps;

	req->backend.data = NULL;
	if (ret < 0)
		return ret;
	steps = g_new0(struct steps, 1);
	nfs4_walk_begin(&steps->walk, view, &req->object);
	steps->read = asks_for_hole(view, req) ? hole_step(view) : data_step(view);
	req->backend.data = steps;
	return 0;
}

void nfs4_request_end(struct backend_request *req)
{
	struct steps *steps = req->backend.data;

	if (!steps)
		return;
	nfs4_walk_end(&steps->walk);
	g_free(steps);
	req->backend.data = NULL;
}

/* ---- calls ---- */

static uint32_t read_count(const struct nfs_view *view, const struct backend_request *req)
{
	return MIN(req->count, view->max_read);
}

static void put_open(const struct nfs4_session *session, unsigned slot, struct xdr_out *out)
{
	const uint32_t owner = slot;

	xdr_put_u32(out, OP_OPEN);
	xdr_put_u32(out, 0);	     /* seqid: of no use in sessions */
	xdr_put_u32(out, 1 | 0x400); /* ACCESS_READ, WANT_NO_DELEG */
	xdr_put_u32(out, 0);	     /* DENY_NONE */
	xdr_put_u64(out, session->client);
	xdr_put_bytes(out, &owner, sizeof(owner));
	xdr_put_u32(out, 0); /* OPEN4_NOCREATE */
	xdr_put_u32(out, 4); /* CLAIM_FH */
}

static void put_close_current(struct xdr_out *out)
{
	xdr_put_u32(out, OP_CLOSE);
	xdr_put_u32(out, 0);
	nfs4_put_current(out, 1);
}

static void put_read(const struct nfs_view *view, const struct nfs4_session *session, unsigned slot,
		     const struct backend_request *req, struct xdr_out *out)
{
	const struct steps *steps = req->backend.data;
	bool opened = steps->read == READ_OPENED;

	if (opened)
		put_open(session, slot, out);
	xdr_put_u32(out, OP_READ);
	nfs4_put_current(out, opened ? 1 : 0); /* all zeros: the anonymous one */
	xdr_put_u64(out, req->offset);
	xdr_put_u32(out, read_count(view, req));
	if (opened)
		put_close_current(out);
	nfs4_put_getattr(out, view);
}

static void put_read_step(const struct nfs_view *view, const struct nfs4_session *session,
			  unsigned slot, const struct backend_request *req, struct xdr_out *out)
{
	const struct steps *steps = req->backend.data;

	switch (steps->read) {
	case READ_SEEK:
		nfs4_put_seek(out, false, req->offset);
		nfs4_put_getattr(out, view);
		break;
	case READ_SEEK_OPENED:
		put_open(session, slot, out);
		nfs4_put_seek(out, true, req->offset);
		put_close_current(out);
		nfs4_put_getattr(out, view);
		break;
	case READ_HOLE:
		nfs4_put_getattr(out, view);
		break;
	case READ_TO_CLOSE:
		xdr_put_u32(out, OP_CLOSE);
		xdr_put_u32(out, 0);
		nfs4_put_fixed(out, steps->stateid, sizeof(steps->stateid));
		break;
	default:
		put_read(view, session, slot, req, out);
	}
}

static void put_readdir(const struct nfs_view *view, const struct backend_request *req,
			struct xdr_out *out)
{
	uint32_t mask[NFS4_MASK_WORDS] = {0};

	if (req->names_only) {
		nfs4_mask_add(mask, FATTR4_FSID);
		nfs4_mask_add(mask, FATTR4_FILEID);
	} else {
		memcpy(mask, view->attrs, sizeof(mask));
		nfs4_mask_add(mask, FATTR4_FILEHANDLE);
	}
	nfs4_mask_add(mask, FATTR4_RDATTR_ERROR);
	xdr_put_u32(out, OP_READDIR);
	xdr_put_u64(out, req->cookie);
	xdr_put_u64(out, req->verf);
	xdr_put_u32(out, MIN(NFS_DIR_COUNT, view->max_entries));
	xdr_put_u32(out, view->max_entries);
	nfs4_put_mask(out, mask);
	nfs4_put_getattr(out, view);
}

static void put_operation(const struct nfs_view *view, const struct nfs4_session *session,
			  unsigned slot, const struct backend_request *req, struct xdr_out *out)
{
	switch (req->op) {
	case BACKEND_LOOKUP:
		xdr_put_u32(out, OP_LOOKUP);
		xdr_put_bytes(out, req->name, (uint32_t)strlen(req->name));
		xdr_put_u32(out, OP_GETFH);
		nfs4_put_getattr(out, view);
		break;
	case BACKEND_READ:
		put_read_step(view, session, slot, req, out);
		break;
	case BACKEND_READDIR:
		put_readdir(view, req, out);
		break;
	case BACKEND_READLINK:
		xdr_put_u32(out, OP_READLINK);
		break;
	default:
		if (req->with_acl)
			nfs4_put_getattr_acl(out, view);
		else
			nfs4_put_getattr(out, view);
	}
}

static uint32_t read_operations(enum read_step step)
{
	switch (step) {
	case READ_OPENED:
	case READ_SEEK_OPENED:
		return 4;
	case READ_ANONYMOUS:
	case READ_SEEK:
		return 2;
	default:
		return 1;
	}
}

/* Operations of the next call, after the object's handle. */
static uint32_t count_operations(const struct backend_request *req)
{
	const struct steps *steps = req->backend.data;

	if (nfs4_walk_goes_on(&steps->walk))
		return nfs4_walk_count(&steps->walk);
	switch (req->op) {
	case BACKEND_LOOKUP:
		return 3;
	case BACKEND_READ:
		return read_operations(steps->read);
	case BACKEND_READDIR:
		return 2;
	default:
		return 1;
	}
}

void nfs4_request_encode(const struct nfs_view *view, const struct nfs4_session *session,
			 unsigned slot, const struct backend_request *req, struct xdr_out *out)
{
	const struct steps *steps = req->backend.data;
	const struct nfs_handle *at = &steps->walk.at;

	nfs4_put_start(out, session, slot, at->len ? at->bytes : NULL, at->len,
		       count_operations(req));
	if (nfs4_walk_goes_on(&steps->walk))
		nfs4_walk_put(&steps->walk, out);
	else
		put_operation(view, session, slot, req, out);
}

/* ---- results ---- */

/* A server that fails to tell the ACL of an object.  Other failures are the request's. */
static int lose_acl(struct backend_request *req, int ret)
{
	if (ret != -EBADMSG && ret != -EREMOTEIO && ret != -ENOTSUP)
		return ret;
	req->xattrs = source_xattrs_new();
	source_xattrs_lose_acl(req->xattrs, false, "the old server fails to tell it");
	return 0;
}

static int get_attr(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	const struct steps *steps = req->backend.data;
	int ret = req->with_acl ? nfs4_get_getattr_acl(view, in, req)
				: nfs4_get_getattr(view, in, req);

	if (ret < 0)
		return req->with_acl ? lose_acl(req, ret) : ret;
	req->has_attr = true;
	nfs4_holes_seen(view->holes, steps->walk.at.bytes, steps->walk.at.len, &req->attr);
	if (steps->walk.path) {
		req->handle_len = steps->walk.at.len;
		memcpy(req->handle, steps->walk.at.bytes, req->handle_len);
		req->attr.object = nfs_object(view, req->handle, req->handle_len);
	}
	return 0;
}

/* Takes attributes that come beside what was asked for.  If anything is wrong with them, they count
 * as absent. */
static void get_attr_beside(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	req->has_attr = nfs4_get_getattr(view, in, req) == 0;
}

static int get_lookup(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	struct nfs_handle found;
	uint32_t status;
	int ret = nfs4_get_op(in, OP_LOOKUP, &status);

	if (ret == 0)
		ret = nfs4_get_getfh(in, &found);
	if (ret == 0)
		ret = nfs4_get_getattr(view, in, req);
	if (ret < 0)
		return ret;
	req->has_attr = true;
	nfs4_holes_seen(view->holes, found.bytes, found.len, &req->attr);
	req->handle_len = found.len;
	memcpy(req->handle, found.bytes, found.len);
	req->attr.object = nfs_object(view, found.bytes, found.len);
	return 0;
}

/* OPEN's result (section 18.16.2).  A client that cannot be called back gets no delegations. */
static int get_open(struct xdr_in *in, uint8_t *stateid)
{
	uint32_t words, kind, why;

	if (in->end - in->p < NFS4_STATEID_LEN)
		return -EBADMSG;
	memcpy(stateid, in->p, NFS4_STATEID_LEN);
	xdr_skip(in, NFS4_STATEID_LEN + 4 + 8 + 8 + 4);
	words = xdr_get_u32(in);
	xdr_skip(in, (size_t)words * 4);
	kind = xdr_get_u32(in);
	if (kind == 3) { /* NONE_EXT */
		why = xdr_get_u32(in);
		if (why == 1 || why == 2)
			xdr_skip(in, 4);
	}
	return in->bad || (kind != 0 && kind != 3) ? -EBADMSG : 0;
}

/* Whether the status means that the server refuses the anonymous stateid. */
static bool wants_open(uint32_t status)
{
	return status == NFS4ERR_LOCKED || status == NFS4ERR_OPENMODE ||
	       status == NFS4ERR_BAD_STATEID || nfs_status(status) == -EACCES;
}

static int read_status(uint32_t status, int ret)
{
	return status == NFS4ERR_LOCKED || status == NFS4ERR_SHARE_DENIED ? -EBUSY : ret;
}

/* Zeros at the end of what came: there may be a hole. */
static void look_for_hole(const struct nfs_view *view, const struct backend_request *req)
{
	const struct nfs_handle *at = &((struct steps *)req->backend.data)->walk.at;
	uint32_t n = req->data_len;

	if (req->has_attr && n >= NFS4_HOLE_MIN && req->data[n - 1] == 0 &&
	    memcmp(req->data + n - NFS4_HOLE_MIN, req->data + n - NFS4_HOLE_MIN + 1,
		   NFS4_HOLE_MIN - 1) == 0)
		nfs4_holes_seen(view->holes, at->bytes, at->len, &req->attr);
}

static int get_data(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	const struct steps *steps = req->backend.data;
	uint32_t status, asked = read_count(view, req);

	req->eof = xdr_get_u32(in) != 0;
	req->data = xdr_get_bytes(in, &req->data_len);
	if (in->bad || req->data_len > asked)
		return -EBADMSG;
	if (steps->read == READ_OPENED && nfs4_get_op(in, OP_CLOSE, &status) == 0)
		xdr_skip(in, NFS4_STATEID_LEN);
	get_attr_beside(view, req, in);
	look_for_hole(view, req);
	return nfs_end_read(req, asked);
}

/* The call ended while the file was open. */
static int close_and(struct steps *steps, int status, enum read_step next)
{
	steps->status = status;
	steps->next = next;
	steps->read = READ_TO_CLOSE;
	return NFS_CALL_AGAIN;
}

static int get_closed(struct steps *steps)
{
	steps->read = steps->next;
	return steps->status;
}

static int get_read(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	struct steps *steps = req->backend.data;
	bool opened = steps->read == READ_OPENED;
	uint32_t status;
	int ret;

	if (opened) {
		ret = nfs4_get_op(in, OP_OPEN, &status);
		req->grace = status == NFS4ERR_GRACE;
		if (ret < 0)
			return read_status(status, ret);
		ret = get_open(in, steps->stateid);
		if (ret < 0)
			return ret;
	}
	ret = nfs4_get_op(in, OP_READ, &status);
	req->grace = status == NFS4ERR_GRACE;
	if (ret == 0) {
		/* The server had its reason to refuse the anonymous stateid. */
		if (opened && steps->status == -EBADMSG)
			atomic_store(&view->opens, true);
		return get_data(view, req, in);
	}
	if (opened)
		return close_and(steps, read_status(status, ret), READ_OPENED);
	if (view->minor == 0)
		return read_status(status, ret);
	if (!wants_open(status))
		return ret;
	steps->status = status == NFS4ERR_BAD_STATEID ? -EBADMSG : 0;
	steps->read = READ_OPENED;
	return NFS_CALL_AGAIN;
}

/* Statuses that every file will have. */
static bool cannot_seek(int ret)
{
	return ret == -ENOTSUP || ret == -EBADMSG || ret == -EREMOTEIO;
}

/* Where data begin is known, and what follows are the attributes. */
static int take_hole(struct nfs_view *view, struct backend_request *req, uint64_t data,
		     struct xdr_in *in)
{
	struct steps *steps = req->backend.data;
	const struct nfs_handle *at = &steps->walk.at;

	steps->read = data_step(view);
	get_attr_beside(view, req, in);
	if (nfs4_give_hole(req, data, read_count(view, req)))
		return 0;
	nfs4_holes_none(view->holes, at->bytes, at->len, &req->attr);
	return NFS_CALL_AGAIN;
}

/* The next step after SEEK failed.  NFS-Ganesha 4.3 needs the file opened: else it says that data
 * begin at 0, whatever offset it was asked for. */
static enum read_step without_seek(struct nfs_view *view, bool opened, int ret)
{
	bool may_open = !opened && ret != -ENOTSUP;

	if (cannot_seek(ret))
		atomic_store(may_open ? &view->seeks_opened : &view->no_seek, true);
	return cannot_seek(ret) && may_open ? READ_SEEK_OPENED : data_step(view);
}

static int get_seek(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	struct steps *steps = req->backend.data;
	bool opened = steps->read == READ_SEEK_OPENED, open = false, ended = false;
	uint32_t status;
	uint64_t data;
	int ret = opened ? nfs4_get_op(in, OP_OPEN, &status) : 0;

	if (opened && ret == 0) {
		ret = get_open(in, steps->stateid);
		open = ret == 0;
	}
	if (ret == 0)
		ret = nfs4_get_seek(in, req->offset, &data, &ended);
	if (ret == 0 && !ended) {
		if (open && nfs4_get_op(in, OP_CLOSE, &status) == 0)
			xdr_skip(in, NFS4_STATEID_LEN);
		return take_hole(view, req, data, in);
	}
	steps->read = ended ? READ_HOLE : without_seek(view, opened, ret);
	ret = ret == -EAGAIN || ret == -ESTALE ? ret : NFS_CALL_AGAIN;
	return open ? close_and(steps, ret, steps->read) : ret;
}

static int get_readlink(struct backend_request *req, struct xdr_in *in)
{
	uint32_t status;
	int ret = nfs4_get_op(in, OP_READLINK, &status);

	return ret < 0 ? ret : nfs_get_target(req, in);
}

static void add_listed_entry(const struct nfs_view *view, struct backend_request *req,
			     const uint8_t *name, uint32_t len, const struct nfs4_attrs *attrs)
{
	struct source_entry entry = {0};

	if (attrs && nfs4_mask_has(attrs->there, FATTR4_RDATTR_ERROR) &&
	    attrs->error == NFS4ERR_MOVED) {
		backend_batch_refuse(req->batch, text_name(name, len), QM_REFERRAL);
		return;
	}
	if (attrs) {
		entry.has_attr =
			nfs4_attrs_object(view, attrs, &entry.attr) && !entry.attr.no_owner;
		entry.has_handle = attrs->handle.len > 0;
		entry.handle_len = attrs->handle.len;
		memcpy(entry.handle, attrs->handle.bytes, attrs->handle.len);
		entry.attr.object = nfs_object(view, entry.handle, entry.handle_len);
	}
	if (entry.has_attr)
		nfs4_holes_seen(view->holes, entry.handle, entry.handle_len, &entry.attr);
	if (attrs && !entry.has_attr)
		entry.attr = (struct source_attr){
			.fileid = nfs_fileid(view, attrs->attr.fileid, attrs->fs)};
	nfs_add_entry(req, name, len, &entry);
}

/* One entry; returns its cookie. */
static uint64_t get_entry(const struct nfs_view *view, struct backend_request *req,
			  struct xdr_in *in, bool *unowned)
{
	uint64_t cookie = xdr_get_u64(in);
	uint32_t len;
	const uint8_t *name = xdr_get_bytes(in, &len);
	struct nfs4_attrs attrs;
	bool good = nfs4_get_attrs(view, backend_is_waited_for(req), in, &attrs);

	if (!in->bad)
		add_listed_entry(view, req, name, len, good ? &attrs : NULL);
	*unowned |= good && attrs.attr.no_owner == -EAGAIN;
	return cookie;
}

static int get_readdir(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	uint64_t verf, cookie = req->cookie;
	uint32_t status;
	unsigned n = 0;
	bool unowned = false;
	int ret = nfs4_get_op(in, OP_READDIR, &status);

	if (ret < 0)
		return ret;
	verf = xdr_get_u64(in);
	req->batch = backend_batch_new();
	while (xdr_get_u32(in) && !in->bad) {
		cookie = get_entry(view, req, in, &unowned);
		n++;
	}
	/* after those attempts, entries without an owner come without attributes, and each is
	 * looked up by itself */
	req->here = unowned && req->attempts < NFS4_OWNER_TRIES;
	if (req->here)
		return -EAGAIN;
	ret = nfs_end_listing(req, n, cookie, verf, in);
	if (ret == 0)
		get_attr_beside(view, req, in);
	return ret;
}

static int get_read_step(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	struct steps *steps = req->backend.data;

	switch (steps->read) {
	case READ_SEEK:
	case READ_SEEK_OPENED:
		return get_seek(view, req, in);
	case READ_HOLE:
		return take_hole(view, req, NFS4_NO_DATA, in);
	case READ_TO_CLOSE:
		return get_closed(steps);
	default:
		return get_read(view, req, in);
	}
}

static int get_operation(struct nfs_view *view, struct backend_request *req, struct xdr_in *in)
{
	struct steps *steps = req->backend.data;

	if (steps->walk.refused)
		return nfs4_walk_get_flavours(&steps->walk, view, req->object.path, in);
	if (nfs4_walk_goes_on(&steps->walk))
		return nfs4_walk_get(&steps->walk, in);
	switch (req->op) {
	case BACKEND_LOOKUP:
		return get_lookup(view, req, in);
	case BACKEND_READ:
		return get_read_step(view, req, in);
	case BACKEND_READDIR:
		return get_readdir(view, req, in);
	case BACKEND_READLINK:
		return get_readlink(req, in);
	default:
		return get_attr(view, req, in);
	}
}

/* Another server has the object. */
static int refer(struct nfs_view *view)
{
	if (!atomic_exchange(&view->referred, true))
		g_message("%s: the old server refers to other servers for parts of the tree, which "
			  "are left out: make volumes of their own for them",
			  view->url);
	return -EREMOTEIO;
}

int nfs4_request_decode(struct nfs_view *view, struct nfs4_session *session, unsigned slot,
			struct backend_request *req, int rpc, struct xdr_in *in)
{
	struct steps *steps = req->backend.data;
	int ret = nfs4_get_start(session, slot, steps->walk.at.len == 0, rpc, in);
	bool started = ret == 0;

	/* The file is closed even if the READ failed. */
	if (ret < 0 && steps->read == READ_TO_CLOSE)
		return get_closed(steps);
	if (started)
		ret = get_operation(view, req, in);
	if (ret == -ENOKEY)
		return steps->walk.refused
			       ? -EACCES
			       : nfs4_walk_refuse(&steps->walk, started,
						  req->op == BACKEND_LOOKUP ? req->name : NULL);
	return ret == -EREMOTE ? refer(view) : ret;
}
