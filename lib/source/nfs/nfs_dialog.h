/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is said on a connection: version 3 and NFSACL (nfs_proc.h), version 4.2 for user attributes
 * beside it (nfs4_xattr.h), or version 4 alone (nfs4_proc.h).  Version 4 begins with calls of its
 * own.  Memory only.
 */
#ifndef LIB_SOURCE_NFS_NFS_DIALOG_H
#define LIB_SOURCE_NFS_NFS_DIALOG_H

#include "lib/source/nfs/nfs4_proc.h"
#include "lib/source/nfs/nfs4_xattr.h"

struct nfs_dialog {
	struct nfs_view *view;
	const struct rpc_auth *auth;
	enum backend_op probe;	      /* what a new connection is tried with, of the root */
	struct nfs4_session *session; /* NULL: version 3; allocated */
	bool full;		      /* version 4 alone */
	bool set_up;		      /* the probe is over */
};
void nfs_dialog_init(struct nfs_dialog *dialog, struct nfs_view *view, const struct rpc_auth *auth,
		     enum backend_op probe, bool version4);
void nfs_dialog_clear(struct nfs_dialog *dialog);

/* A new connection: fills in the request that goes first. */
void nfs_dialog_start(struct nfs_dialog *dialog, struct backend_request *probe);
/* Whether a reply to it may tell fsids; then it can be asked for again. */
bool nfs_dialog_tells_fsids(const struct nfs_dialog *dialog, const struct backend_request *req);
/* The session's lease is to be renewed, or the root to be looked at: the same, in between. */
void nfs_dialog_renew(struct nfs_dialog *dialog, struct backend_request *probe);
/* So often, in us; 0: there is none, as in version 4.0. */
int64_t nfs_dialog_lease(const struct nfs_dialog *dialog);
/* The probe came to an end: is the connection good?  Frees its results. */
bool nfs_dialog_started(struct nfs_dialog *dialog, struct backend_request *probe);
/* So many calls may be under way. */
unsigned nfs_dialog_window(const struct nfs_dialog *dialog, unsigned window);

/* Of a request that was under way on the last connection: may it go on?  0 or its status. */
int nfs_dialog_status(const struct nfs_dialog *dialog);
/* As nfs_request_begin and so on; encode makes the whole call of that slot. */
int nfs_dialog_begin(const struct nfs_dialog *dialog, struct backend_request *req);
void nfs_dialog_end(const struct nfs_dialog *dialog, struct backend_request *req);
enum nfs_procedure nfs_dialog_encode(const struct nfs_dialog *dialog,
				     const struct backend_request *req, unsigned slot, uint32_t xid,
				     struct xdr_out *out);
int nfs_dialog_decode(struct nfs_dialog *dialog, struct backend_request *req, unsigned slot,
		      enum nfs_procedure procedure, int rpc, struct xdr_in *in);

#endif
