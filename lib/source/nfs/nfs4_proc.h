/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encodes requests as compounds of NFS version 4.1 and 4.2 (RFC 8881), and 4.0 (RFC 7530), and
 * decodes their results, where version 4 serves the whole source.  Memory only.  A request may take
 * several calls: an object that is known by its path alone is walked to, from the server's own
 * root, some names at a time.
 *
 * READ goes by the anonymous stateid (section 8.2.3), for which the server keeps nothing.  Where
 * the server refuses that stateid, the file is opened, read and closed in one call, so that nothing
 * is open from one call to the next; each slot, which has one call at a time, has its own
 * open-owner.  Only where the READ in between fails, a CLOSE is sent in a call of its own.  By
 * version 4.0 nothing is opened: an OPEN would need a client, its lease, and an order of opens.
 */
#ifndef LIB_SOURCE_NFS_NFS4_PROC_H
#define LIB_SOURCE_NFS_NFS4_PROC_H

#include "lib/source/nfs/nfs4_attr.h"

/* Every request except BACKEND_XATTRS: as the functions of nfs_proc.h, in the given slot. */
int nfs4_request_begin(const struct nfs_view *view, struct backend_request *req);
void nfs4_request_end(struct backend_request *req);
void nfs4_request_encode(const struct nfs_view *view, const struct nfs4_session *session,
			 unsigned slot, const struct backend_request *req, struct xdr_out *out);
int nfs4_request_decode(struct nfs_view *view, struct nfs4_session *session, unsigned slot,
			struct backend_request *req, int rpc, struct xdr_in *in);

#endif
