/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NFSACL, version 3: a protocol that Solaris and Linux serve beside NFS version 3.  GETACL asks for
 * the ACLs of a handle.  There is no RFC; linux/nfsacl.h has its numbers, and a result is
 *
 * nfsstat3 status; post_op_attr attr; uint32 mask; which of the following were asked for uint32
 * count;  aclent access<>; uint32 count;  aclent default<>;
 *
 * with aclent {uint32 type, id, perm}.  Memory only.
 */
#ifndef LIB_SOURCE_NFS_NFS_ACL_H
#define LIB_SOURCE_NFS_NFS_ACL_H

#include "lib/source/nfs/nfs_attr.h"

#define NFSACL_ENTRIES_MAX 1024 /* of one ACL, as Linux has it */

/* Puts what follows the handle in a call. */
void nfsacl_encode(struct xdr_out *out);
/*
 * Takes the result into req->xattrs.  rpc: what rpc_reply_begin() said.  The request's status.  An
 * ACL that the server itself cannot read is no failure: it is reported as lost.
 */
int nfsacl_decode(struct nfs_view *view, struct backend_request *req, int rpc, struct xdr_in *in);
/*
 * The result for the root, at open: 0; -ENOTSUP: the root has no access ACL, although a server that
 * knows ACLs has one for everything (Ganesha answers so for file systems whose ACLs it cannot
 * read); or the status with which the server refuses.
 */
int nfsacl_probe(struct nfs_view *view, struct xdr_in *in);

#endif
