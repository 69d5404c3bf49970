/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * User extended attributes by NFS version 4.2 (RFC 8276), as a side channel of the version 3
 * backend: some servers (Linux) take the handles of version 3 in version 4, too, which is found out
 * at open.  Memory only.
 *
 * A connection makes a client and a session of its own (RFC 8881 sections 18.35 and 18.36), and
 * both anew after it broke.  They hold no state, so that nothing is lost with them and no lease
 * needs to be renewed: when the server forgot them, the connection begins again.
 *
 * A request takes several calls: LISTXATTRS until its end, then GETXATTR for each name.
 */
#ifndef NFS_V4_H
#define NFS_V4_H

#include "nfs_proc.h"

#define NFS4_SLOTS_MAX 256

enum nfs4_state {
	NFS4_NO_CLIENT,	 /* EXCHANGE_ID is next */
	NFS4_NO_SESSION, /* CREATE_SESSION is next */
	NFS4_READY,
	NFS4_REFUSED, /* the server does not speak version 4.2 */
};

struct nfs4_session {
	enum nfs4_state state;
	uint8_t verifier[8], owner[16], id[16];
	uint64_t client;
	uint32_t create_sequence;
	unsigned slots; /* calls that may be under way, once it is ready */
	uint32_t sequence[NFS4_SLOTS_MAX];
};

/* A new session, as of a client that has just started. */
void nfs4_reset(struct nfs4_session *session);

/* While it is not ready: the arguments of the call that brings it on, and its result.  0, or -errno
 * (-ENOTSUP: refused, -EAGAIN). */
void nfs4_encode_setup(const struct nfs4_session *session, struct xdr_out *out);
int nfs4_decode_setup(struct nfs4_session *session, int rpc, struct xdr_in *in);

/*
 * Asks for what shows that a handle of version 3 stands for the same object here.  0; -ENOTSUP: it
 * does not, or has no extended attributes; or another status.
 */
void nfs4_encode_proof(const struct nfs4_session *session, const struct nfs_handle *handle,
		       struct xdr_out *out);
int nfs4_decode_proof(struct nfs4_session *session, uint64_t fileid, int rpc, struct xdr_in *in);

/* BACKEND_XATTRS, with a handle: as the functions of nfs_proc.h, in that slot. */
#define NFS_CALL_RESET 2 /* the session is gone: all is to be asked anew */
int nfs4_request_begin(const struct nfs4_session *session, struct backend_request *req);
void nfs4_request_end(struct backend_request *req);
void nfs4_request_encode(const struct nfs4_session *session, unsigned slot,
			 const struct backend_request *req, struct xdr_out *out);
int nfs4_request_decode(struct nfs4_session *session, unsigned slot, struct backend_request *req,
			int rpc, struct xdr_in *in);

#endif
