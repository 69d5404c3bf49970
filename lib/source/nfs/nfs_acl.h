/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NFSACL, version 3: the side protocol that Solaris and Linux have beside NFS version 3, where a
 * handle's ACLs are asked for by GETACL.  There is no RFC; linux/nfsacl.h has its numbers, and a
 * result is
 *
 *	nfsstat3 status; post_op_attr attr;
 *	uint32 mask;		which of the following were asked for
 *	uint32 count;  aclent access<>;
 *	uint32 count;  aclent default<>;
 *
 * with aclent {uint32 type, id, perm}.  Memory only.
 */
#ifndef LIB_SOURCE_NFS_NFS_ACL_H
#define LIB_SOURCE_NFS_NFS_ACL_H

#include "lib/source/nfs/nfs_attr.h"

#define NFSACL_ENTRIES_MAX 1024 /* of one ACL, as Linux has it */

/* What follows the handle in a call. */
void nfsacl_encode(struct xdr_out *out);
/*
 * The result, into req->xattrs, where rpc is what rpc_reply_begin said: the request's status.  An
 * ACL that the server does not get told is no failure, but lost.
 */
int nfsacl_decode(struct nfs_view *view, struct backend_request *req, int rpc, struct xdr_in *in);
/*
 * The result for the root, at open: 0; -ENOTSUP where it has no access ACL, which a server that
 * knows ACLs has for everything (Ganesha answers so for file systems whose ACLs it cannot read); or
 * what the server refuses with.
 */
int nfsacl_probe(struct nfs_view *view, struct xdr_in *in);

#endif
