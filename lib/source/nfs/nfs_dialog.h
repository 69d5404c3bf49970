/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which calls a connection makes for requests: those of version 3 and NFSACL (nfs_proc.h), those of
 * version 4.2 for user attributes beside version 3 (nfs4_xattr.h), or those of version 4 alone
 * (nfs4_proc.h).  Version 4 begins with calls that set up its session.  Memory only.
 */
#ifndef LIB_SOURCE_NFS_NFS_DIALOG_H
#define LIB_SOURCE_NFS_NFS_DIALOG_H

#include "lib/source/nfs/nfs4_proc.h"
#include "lib/source/nfs/nfs4_xattr.h"

struct nfs_dialog {
	struct nfs_view *view;
	const struct rpc_auth *auth;
	enum backend_op probe;	      /* a new connection is tried with it, on the root */
	struct nfs4_session *session; /* NULL: version 3; allocated */
	bool full;		      /* version 4 alone */
	bool set_up;		      /* the probe is over */
};
void nfs_dialog_init(struct nfs_dialog *dialog, struct nfs_view *view, const struct rpc_auth *auth,
		     enum backend_op probe, bool version4);
void nfs_dialog_clear(struct nfs_dialog *dialog);

/* For a new connection: fills in the request that goes first. */
void nfs_dialog_start(struct nfs_dialog *dialog, struct backend_request *probe);
/* Whether a reply to req may show fsids; such a request can be made again. */
bool nfs_dialog_tells_fsids(const struct nfs_dialog *dialog, const struct backend_request *req);
/* Fills in a request that renews the session's lease or looks at the root, between others. */
void nfs_dialog_renew(struct nfs_dialog *dialog, struct backend_request *probe);
/* How often the lease is to be renewed, in us; 0: there is no lease, as in version 4.0. */
int64_t nfs_dialog_lease(const struct nfs_dialog *dialog);
/* The probe came to an end.  Whether the connection is good.  Frees the probe's results. */
bool nfs_dialog_started(struct nfs_dialog *dialog, struct backend_request *probe);
/* How many calls may be under way. */
unsigned nfs_dialog_window(const struct nfs_dialog *dialog, unsigned window);

/* Whether a request that was under way on the last connection may go on: 0, or its status. */
int nfs_dialog_status(const struct nfs_dialog *dialog);
/* As nfs_request_begin() and the functions beside it; encode makes the whole call of that slot. */
int nfs_dialog_begin(const struct nfs_dialog *dialog, struct backend_request *req);
void nfs_dialog_end(const struct nfs_dialog *dialog, struct backend_request *req);
enum nfs_procedure nfs_dialog_encode(const struct nfs_dialog *dialog,
				     const struct backend_request *req, unsigned slot, uint32_t xid,
				     struct xdr_out *out);
int nfs_dialog_decode(struct nfs_dialog *dialog, struct backend_request *req, unsigned slot,
		      enum nfs_procedure procedure, int rpc, struct xdr_in *in);

#endif
