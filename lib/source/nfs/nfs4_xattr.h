/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * User extended attributes by NFS version 4.2 (RFC 8276).  A source of version 3 asks for them on
 * connections of their own: some servers (Linux) take the handles of version 3 in version 4, too,
 * which is found out at open.  A source of version 4 asks for them on its usual
 * connections.  Memory only.
 *
 * A request takes several calls: LISTXATTRS until its end, then GETXATTR for each name.
 */
#ifndef LIB_SOURCE_NFS_NFS4_XATTR_H
#define LIB_SOURCE_NFS_NFS4_XATTR_H

#include "lib/source/nfs/nfs4_session.h"

#define NFS4_XATTR_MINOR 2 /* RFC 8276 */

/*
 * Asks for what shows that a handle of version 3 stands for the same object in version 4.2.  0;
 * -ENOTSUP: the handle does not, or the object cannot have extended attributes; or another status.
 */
void nfs4_encode_proof(const struct nfs4_session *session, const struct nfs_handle *handle,
		       struct xdr_out *out);
int nfs4_decode_proof(struct nfs4_session *session, uint64_t fileid, int rpc, struct xdr_in *in);

/* BACKEND_XATTRS with a handle: as the functions of nfs_proc.h, in the given slot. */
int nfs4_xattr_begin(const struct nfs4_session *session, struct backend_request *req);
void nfs4_xattr_end(struct backend_request *req);
void nfs4_xattr_encode(const struct nfs4_session *session, unsigned slot,
		       const struct backend_request *req, struct xdr_out *out);
int nfs4_xattr_decode(struct nfs4_session *session, unsigned slot, struct backend_request *req,
		      int rpc, struct xdr_in *in);

#endif
