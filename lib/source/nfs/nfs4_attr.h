/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of NFS version 4 (RFC 8881 section 5): which of them are asked for, and what their
 * values say. */
#ifndef LIB_SOURCE_NFS_NFS4_ATTR_H
#define LIB_SOURCE_NFS_NFS4_ATTR_H

#include "lib/source/nfs/nfs4_session.h"

enum nfs4_attr_number {
	FATTR4_SUPPORTED_ATTRS = 0,
	FATTR4_TYPE = 1,
	FATTR4_FH_EXPIRE_TYPE = 2,
	FATTR4_SIZE = 4,
	FATTR4_FSID = 8,
	FATTR4_UNIQUE_HANDLES = 9,
	FATTR4_LEASE_TIME = 10,
	FATTR4_RDATTR_ERROR = 11,
	FATTR4_ACL = 12,
	FATTR4_FILEHANDLE = 19,
	FATTR4_FILEID = 20,
	FATTR4_MAXREAD = 30,
	FATTR4_MODE = 33,
	FATTR4_NUMLINKS = 35,
	FATTR4_OWNER = 36,
	FATTR4_OWNER_GROUP = 37,
	FATTR4_RAWDEV = 41,
	FATTR4_SPACE_USED = 45,
	FATTR4_TIME_ACCESS = 47,
	FATTR4_TIME_METADATA = 52,
	FATTR4_TIME_MODIFY = 53,
	FATTR4_XATTR_SUPPORT = 82,
};

/* The attributes of one object, or of the server, as far as they came. */
struct nfs4_attrs {
	uint32_t there[NFS4_MASK_WORDS];
	struct source_attr attr; /* fileid: as it came */
	uint64_t fs;		 /* of its fsid; the root's where there is none */
	struct nfs_handle handle;
	uint32_t error; /* RDATTR_ERROR: an nfsstat4 */
	uint32_t lease; /* seconds */
	uint64_t max_read;
	bool unique_handles;
	uint32_t expire_type;
	uint32_t supported[NFS4_MASK_WORDS];
	bool xattrs;
	struct xdr_in acl; /* in the reply: nfs4_acl_get() */
};

static inline bool nfs4_mask_has(const uint32_t *mask, enum nfs4_attr_number n)
{
	return mask[n / 32] >> n % 32 & 1;
}
static inline void nfs4_mask_add(uint32_t *mask, enum nfs4_attr_number n)
{
	mask[n / 32] |= UINT32_C(1) << n % 32;
}

/* The attributes that objects are asked for, without those that are not in supported (NULL: all
 * are). */
void nfs4_mask_wanted(uint32_t *mask, const uint32_t *supported);
/* The name of an attribute that the server lacks and without which it cannot be a source; or
 * NULL. */
const char *nfs4_mask_lacks(const uint32_t *supported);

void nfs4_put_mask(struct xdr_out *out, const uint32_t *mask);
/* Puts GETATTR of an object; the second function asks for the ACL, too. */
void nfs4_put_getattr(struct xdr_out *out, const struct nfs_view *view);
void nfs4_put_getattr_acl(struct xdr_out *out, const struct nfs_view *view);

/* FALSE: not acceptable. */
bool nfs4_get_handle(struct xdr_in *in, struct nfs_handle *handle);
/* Reads a bitmap and the attributes behind it.  FALSE: they are not acceptable, and *in is bad or
 * stands behind them.  demand, here and below: a client waits for the answer. */
bool nfs4_get_attrs(const struct nfs_view *view, bool demand, struct xdr_in *in,
		    struct nfs4_attrs *attrs);
/* Whether attrs have what every object has; then *attr is filled in, with a fileid that is unique
 * in the whole source. */
bool nfs4_attrs_object(const struct nfs_view *view, const struct nfs4_attrs *attrs,
		       struct source_attr *attr);
/* GETATTR's result for the object that the request is about, or was to find: 0 and req->attr, or
 * -errno. */
int nfs4_get_getattr(struct nfs_view *view, struct xdr_in *in, struct backend_request *req);
/* The same with the object's ACL, if it has one, in req->xattrs, which are new unless the call
 * fails.  The users and groups that the ACL names count for attr.no_owner, too. */
int nfs4_get_getattr_acl(struct nfs_view *view, struct xdr_in *in, struct backend_request *req);

#endif
