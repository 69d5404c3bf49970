/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attribute `acl` of NFS version 4 (RFC 8881 section 6.2.1).  Memory only. */
#ifndef LIB_SOURCE_NFS_NFS4_ACL_H
#define LIB_SOURCE_NFS_NFS4_ACL_H

#include "lib/source/nfs/nfs4_owner.h"
#include "lib/source/nfs/nfs_xdr.h"
#include "lib/source/source.h"

/* Skips a list of ACL entries in a reply.  FALSE: the reply ends before the list does. */
bool nfs4_acl_skip(struct xdr_in *in);
/*
 * Puts the list that nfs4_acl_skip() went over into xattrs.  A list without entries says nothing:
 * the mode stands.  A list that is too long is reported as lost.  0; or the status of
 * nfs4_owners_id() for a name in the list, and then the list is void.
 */
int nfs4_acl_get(struct nfs4_owners *owners, bool demand, struct xdr_in in,
		 struct source_xattrs *xattrs);

#endif
