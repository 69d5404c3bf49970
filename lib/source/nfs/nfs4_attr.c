/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs4_attr.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "lib/source/nfs/nfs4_acl.h"

#define BITS (NFS4_MASK_WORDS * 32)

enum { NF4REG = 1, NF4DIR, NF4BLK, NF4CHR, NF4LNK, NF4SOCK, NF4FIFO };

void nfs4_mask_wanted(uint32_t *mask, const uint32_t *supported)
{
	static const enum nfs4_attr_number wanted[] = {
		FATTR4_TYPE,	    FATTR4_SIZE,       FATTR4_FSID,	   FATTR4_FILEID,
		FATTR4_MODE,	    FATTR4_NUMLINKS,   FATTR4_OWNER,	   FATTR4_OWNER_GROUP,
		FATTR4_RAWDEV,	    FATTR4_SPACE_USED, FATTR4_TIME_ACCESS, FATTR4_TIME_METADATA,
		FATTR4_TIME_MODIFY,
	};

	memset(mask, 0, NFS4_MASK_WORDS * sizeof(mask[0]));
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
		if (!supported || nfs4_mask_has(supported, wanted[i]))
			nfs4_mask_add(mask, wanted[i]);
}

const char *nfs4_mask_lacks(const uint32_t *supported)
{
	static const struct {
		enum nfs4_attr_number number;
		const char *name;
	} needed[] = {
		{FATTR4_TYPE, "types"},	       {FATTR4_SIZE, "sizes"},
		{FATTR4_FILEID, "fileids"},    {FATTR4_MODE, "modes"},
		{FATTR4_OWNER, "owners"},      {FATTR4_OWNER_GROUP, "groups"},
		{FATTR4_TIME_MODIFY, "times"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		if (!nfs4_mask_has(supported, needed[i].number))
			return needed[i].name;
	return NULL;
}

void nfs4_put_mask(struct xdr_out *out, const uint32_t *mask)
{
	uint32_t words = NFS4_MASK_WORDS;

	while (words > 0 && mask[words - 1] == 0)
		words--;
	xdr_put_u32(out, words);
	for (uint32_t i = 0; i < words; i++)
		xdr_put_u32(out, mask[i]);
}

void nfs4_put_getattr(struct xdr_out *out, const struct nfs_view *view)
{
	xdr_put_u32(out, OP_GETATTR);
	nfs4_put_mask(out, view->attrs);
}

void nfs4_put_getattr_acl(struct xdr_out *out, const struct nfs_view *view)
{
	uint32_t mask[NFS4_MASK_WORDS];

	memcpy(mask, view->attrs, sizeof(mask));
	nfs4_mask_add(mask, FATTR4_ACL);
	xdr_put_u32(out, OP_GETATTR);
	nfs4_put_mask(out, mask);
}

/* Skips what is beyond the mask's end; FALSE: a bit is set there. */
static bool get_mask(struct xdr_in *in, uint32_t *mask)
{
	uint32_t words = xdr_get_u32(in), beyond = 0;

	memset(mask, 0, NFS4_MASK_WORDS * sizeof(mask[0]));
	for (uint32_t i = 0; i < words && !in->bad; i++) {
		uint32_t word = xdr_get_u32(in);

		if (i < NFS4_MASK_WORDS)
			mask[i] = word;
		else
			beyond |= word;
	}
	return !in->bad && beyond == 0;
}

static int64_t get_time(struct xdr_in *in, int64_t *far)
{
	int64_t seconds = (int64_t)xdr_get_u64(in);

	return source_time(seconds, xdr_get_u32(in), far);
}

static bool get_type(struct xdr_in *in, struct source_attr *attr)
{
	static const mode_t types[] = {
		[NF4REG] = S_IFREG, [NF4DIR] = S_IFDIR,	  [NF4BLK] = S_IFBLK,  [NF4CHR] = S_IFCHR,
		[NF4LNK] = S_IFLNK, [NF4SOCK] = S_IFSOCK, [NF4FIFO] = S_IFIFO,
	};
	uint32_t type = xdr_get_u32(in);

	if (type < NF4REG || type > NF4FIFO)
		return false;
	attr->mode |= types[type];
	return true;
}

bool nfs4_get_handle(struct xdr_in *in, struct nfs_handle *handle)
{
	uint32_t len;
	const uint8_t *bytes = xdr_get_bytes(in, &len);

	if (!bytes || len == 0 || len > NFS4_FHSIZE)
		return false;
	memcpy(handle->bytes, bytes, len);
	handle->len = (uint8_t)len;
	return true;
}

/* The worst status of several names counts: -EHOSTDOWN is less than -EAGAIN. */
static void note_owner(struct source_attr *attr, int ret)
{
	attr->no_owner = MIN(attr->no_owner, ret);
}

static uint32_t get_owner(const struct nfs_view *view, bool demand, bool group, struct xdr_in *in,
			  struct source_attr *attr)
{
	uint32_t len, id = NFS4_NOBODY;
	const uint8_t *text = xdr_get_bytes(in, &len);

	if (text)
		note_owner(attr, nfs4_owners_id(view->owners, demand, group, text, len, &id));
	return id;
}

static dev_t get_device(struct xdr_in *in)
{
	uint32_t major_number = xdr_get_u32(in);

	return makedev(major_number, xdr_get_u32(in));
}

/* Two numbers in one. */
static uint64_t get_fsid(struct xdr_in *in)
{
	uint64_t major_number = xdr_get_u64(in);

	return major_number ^ xdr_get_u64(in) * UINT64_C(0x9e3779b97f4a7c15);
}

/* One of those that objects have. */
static bool get_object_attr(const struct nfs_view *view, bool demand, enum nfs4_attr_number n,
			    struct xdr_in *in, struct nfs4_attrs *attrs)
{
	struct source_attr *attr = &attrs->attr;

	switch (n) {
	case FATTR4_TYPE:
		return get_type(in, attr);
	case FATTR4_SIZE:
		attr->size = xdr_get_u64(in);
		return attr->size <= INT64_MAX;
	case FATTR4_FSID:
		attrs->fs = get_fsid(in);
		return true;
	case FATTR4_FILEHANDLE:
		return nfs4_get_handle(in, &attrs->handle);
	case FATTR4_FILEID:
		attr->fileid = xdr_get_u64(in);
		return true;
	case FATTR4_MODE:
		attr->mode |= xdr_get_u32(in) & 07777;
		return true;
	case FATTR4_NUMLINKS:
		attr->nlink = xdr_get_u32(in);
		attr->nlink = MAX(attr->nlink, 1u);
		return true;
	case FATTR4_OWNER:
		attr->uid = get_owner(view, demand, false, in, attr);
		return true;
	case FATTR4_OWNER_GROUP:
		attr->gid = get_owner(view, demand, true, in, attr);
		return true;
	case FATTR4_RAWDEV:
		attr->rdev = get_device(in);
		return true;
	case FATTR4_SPACE_USED:
		attr->used = xdr_get_u64(in);
		attr->used = MIN(attr->used, (uint64_t)INT64_MAX);
		return true;
	case FATTR4_TIME_ACCESS:
		attr->atime = get_time(in, &attr->far_atime);
		return true;
	case FATTR4_TIME_METADATA:
		attr->ctime = get_time(in, NULL);
		return true;
	case FATTR4_TIME_MODIFY:
		attr->mtime = get_time(in, &attr->far_mtime);
		return true;
	default:
		return false;
	}
}

static bool get_one(const struct nfs_view *view, bool demand, enum nfs4_attr_number n,
		    struct xdr_in *in, struct nfs4_attrs *attrs)
{
	switch (n) {
	case FATTR4_SUPPORTED_ATTRS:
		get_mask(in, attrs->supported); /* attributes beyond the mask are not known here */
		return true;
	case FATTR4_FH_EXPIRE_TYPE:
		attrs->expire_type = xdr_get_u32(in);
		return true;
	case FATTR4_UNIQUE_HANDLES:
		attrs->unique_handles = xdr_get_u32(in) != 0;
		return true;
	case FATTR4_LEASE_TIME:
		attrs->lease = xdr_get_u32(in);
		return true;
	case FATTR4_RDATTR_ERROR:
		attrs->error = xdr_get_u32(in);
		return true;
	case FATTR4_ACL:
		attrs->acl = *in;
		return nfs4_acl_skip(in);
	case FATTR4_MAXREAD:
		attrs->max_read = xdr_get_u64(in);
		return true;
	case FATTR4_XATTR_SUPPORT:
		attrs->xattrs = xdr_get_u32(in) != 0;
		return true;
	default:
		return get_object_attr(view, demand, n, in, attrs);
	}
}

bool nfs4_get_attrs(const struct nfs_view *view, bool demand, struct xdr_in *in,
		    struct nfs4_attrs *attrs)
{
	struct xdr_in values;
	uint32_t len;
	bool good;

	*attrs = (struct nfs4_attrs){.fs = view->root_fs};
	attrs->attr.uid = attrs->attr.gid = NFS4_NOBODY;
	attrs->attr.nlink = 1;
	good = get_mask(in, attrs->there);
	values.p = xdr_get_bytes(in, &len);
	if (in->bad)
		return false;
	values.end = values.p + len;
	values.bad = false;
	for (unsigned n = 0; n < BITS && good; n++)
		if (nfs4_mask_has(attrs->there, n))
			good = get_one(view, demand, n, &values, attrs) && !values.bad;
	return good;
}

bool nfs4_attrs_object(const struct nfs_view *view, const struct nfs4_attrs *attrs,
		       struct source_attr *attr)
{
	static const enum nfs4_attr_number needed[] = {FATTR4_TYPE, FATTR4_SIZE, FATTR4_FILEID,
						       FATTR4_MODE, FATTR4_TIME_MODIFY};
	const uint32_t *there = attrs->there;

	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		if (!nfs4_mask_has(there, needed[i]))
			return false;
	*attr = attrs->attr;
	attr->number = attr->fileid;
	attr->fileid = nfs_fileid(view, attr->number, attrs->fs);
	if (!S_ISBLK(attr->mode) && !S_ISCHR(attr->mode))
		attr->rdev = 0;
	if (!nfs4_mask_has(there, FATTR4_SPACE_USED))
		attr->used = attr->size;
	if (!nfs4_mask_has(there, FATTR4_TIME_ACCESS)) {
		attr->atime = attr->mtime;
		attr->far_atime = attr->far_mtime;
	}
	attr->no_ctime = !nfs4_mask_has(there, FATTR4_TIME_METADATA);
	if (attr->no_ctime)
		attr->ctime = attr->mtime;
	return true;
}

static int get_getattr(struct nfs_view *view, struct xdr_in *in, struct nfs4_attrs *attrs,
		       struct backend_request *req)
{
	uint32_t status;
	int ret = nfs4_get_op(in, OP_GETATTR, &status);

	if (ret < 0)
		return ret;
	if (!nfs4_get_attrs(view, backend_is_waited_for(req), in, attrs))
		return -EBADMSG;
	nfs_root_seen(view, req, attrs->fs);
	return nfs4_attrs_object(view, attrs, &req->attr) ? 0 : -EBADMSG;
}

int nfs4_get_getattr(struct nfs_view *view, struct xdr_in *in, struct backend_request *req)
{
	struct nfs4_attrs attrs;

	return get_getattr(view, in, &attrs, req);
}

int nfs4_get_getattr_acl(struct nfs_view *view, struct xdr_in *in, struct backend_request *req)
{
	struct nfs4_attrs attrs;
	int ret = get_getattr(view, in, &attrs, req);

	if (ret < 0)
		return ret;
	req->xattrs = source_xattrs_new();
	if (nfs4_mask_has(attrs.there, FATTR4_ACL))
		note_owner(&req->attr, nfs4_acl_get(view->owners, backend_is_waited_for(req),
						    attrs.acl, req->xattrs));
	return 0;
}
