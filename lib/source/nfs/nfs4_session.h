/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sessions of NFS version 4.1 and 4.2 (RFC 8881), and what every call in a session has in
 * common.  Memory only.
 *
 * Version 4.0 (RFC 7530) has no sessions, and a program that only reads needs no client ID there
 * either: READ goes by the anonymous stateid.  A struct nfs4_session with minor 0 stands for a
 * connection of that version: one call shows whether the server speaks it, and nothing ends it.
 *
 * Each connection makes a client and a session of its own (sections 18.35 and 18.36), and makes
 * both anew after it broke.  So connections have nothing to agree upon, a session that the server
 * forgets costs other connections no requests, and servers without trunking can have several
 * connections, too.  Trunking (BIND_CONN_TO_SESSION) would give less: NFS-Ganesha 4.3 and Linux 6.1
 * let two connections of one session share its 64 slots, but give each of 16 sessions 64.  A client
 * holds no state from one call to the next, so nothing is lost with it: when the server forgot
 * client or session (BADSESSION, STALE_CLIENTID, DEADSESSION ...), the connection begins
 * again.  The connection also begins again when SEQUENCE says that the server started anew below
 * the session (section 18.46.3: RESTART_RECLAIM_NEEDED), because the server opens nothing until
 * that is answered.  The other flags of SEQUENCE are about state, callbacks and layouts, which this
 * client does not have, and ask for nothing.
 */
#ifndef LIB_SOURCE_NFS_NFS4_SESSION_H
#define LIB_SOURCE_NFS_NFS4_SESSION_H

#include "lib/source/nfs/nfs_proc.h"

#define NFS4_SLOTS_MAX	 256
#define NFS4_OPS_MAX	 8u /* in a call */
#define NFS4_OPS_MIN	 6u /* that a server has to allow: a file is opened and read with so many */
#define NFS4_REPLY_ROOM	 2048u /* of a reply, for what is neither data nor entries */
#define NFS4_STATEID_LEN 16

enum nfs4_op {
	OP_ACCESS = 3,
	OP_CLOSE = 4,
	OP_GETATTR = 9,
	OP_GETFH = 10,
	OP_LOOKUP = 15,
	OP_OPEN = 18,
	OP_PUTFH = 22,
	OP_PUTROOTFH = 24,
	OP_READ = 25,
	OP_READDIR = 26,
	OP_READLINK = 27,
	OP_SECINFO = 33,
	OP_EXCHANGE_ID = 42,
	OP_CREATE_SESSION = 43,
	OP_SECINFO_NO_NAME = 52,
	OP_SEQUENCE = 53,
	OP_RECLAIM_COMPLETE = 58,
	OP_SEEK = 69,
	OP_GETXATTR = 72,
	OP_LISTXATTRS = 74,
};

enum nfs4_error {
	NFS4ERR_NXIO = 6,
	NFS4ERR_DELAY = 10008,
	NFS4ERR_LOCKED = 10012,
	NFS4ERR_GRACE = 10013,
	NFS4ERR_FHEXPIRED = 10014,
	NFS4ERR_SHARE_DENIED = 10015,
	NFS4ERR_WRONGSEC = 10016,
	NFS4ERR_RESOURCE = 10018,
	NFS4ERR_MOVED = 10019,
	NFS4ERR_MINOR_VERS_MISMATCH = 10021,
	NFS4ERR_BAD_STATEID = 10025,
	NFS4ERR_NOT_SAME = 10027,
	NFS4ERR_SYMLINK = 10029,
	NFS4ERR_BADXDR = 10036,
	NFS4ERR_OPENMODE = 10038,
	NFS4ERR_BADCHAR = 10040,
	NFS4ERR_BADNAME = 10041,
	NFS4ERR_OP_ILLEGAL = 10044,
	NFS4ERR_REQ_TOO_BIG = 10065,
	NFS4ERR_REP_TOO_BIG = 10066,
	NFS4ERR_REP_TOO_BIG_TO_CACHE = 10067,
	NFS4ERR_TOO_MANY_OPS = 10070,
	NFS4ERR_NOXATTR = 10095,
	NFS4ERR_XATTR2BIG = 10096,
};

enum nfs4_state {
	NFS4_NO_CLIENT,	 /* EXCHANGE_ID is next */
	NFS4_NO_SESSION, /* CREATE_SESSION is next */
	NFS4_UNCLAIMED,	 /* RECLAIM_COMPLETE is next: without it nothing can be opened */
	NFS4_READY,
	NFS4_REFUSED, /* the server does not speak that version */
};

struct nfs4_session {
	enum nfs4_state state;
	uint32_t minor; /* version; constant; 0: no session at all */
	bool opens;	/* files will be opened; constant */
	bool settled;	/* a call said that nothing has to be reclaimed */
	uint8_t verifier[8], owner[16], id[16];
	uint64_t client;
	uint32_t create_sequence;
	uint32_t max_reply; /* bytes of a reply, as agreed with the server */
	uint32_t max_ops;   /* operations of a call, as agreed */
	unsigned slots;	    /* calls that may be under way, once it is ready */
	uint32_t sequence[NFS4_SLOTS_MAX];
};

/* 0 or the negative status for an nfsstat4; -EREMOTE: another server has the object; -ENOKEY: the
 * object wants another security flavour. */
int nfs4_status(uint32_t status);

/* A new session, as of a client that has just started. */
void nfs4_reset(struct nfs4_session *session);

/* While the session is not ready: the arguments of the call that makes the next step, and the
 * call's result.  0, or -errno (-ENOTSUP: refused, -EAGAIN). */
void nfs4_encode_setup(const struct nfs4_session *session, struct xdr_out *out);
int nfs4_decode_setup(struct nfs4_session *session, int rpc, struct xdr_in *in);

#define NFS_CALL_RESET 2 /* the session is gone: all is to be asked anew */

/* What every call of a slot starts with, before n further operations on the object of the handle;
 * handle NULL: on the server's root. */
void nfs4_put_start(struct xdr_out *out, const struct nfs4_session *session, unsigned slot,
		    const uint8_t *handle, uint32_t len, uint32_t n);
/* Reads a reply up to the first of the further operations: 0, NFS_CALL_RESET, or -errno. */
int nfs4_get_start(struct nfs4_session *session, unsigned slot, bool root, int rpc,
		   struct xdr_in *in);

/* Reads an operation's number and status; -EBADMSG: it is another operation's. */
int nfs4_get_op(struct xdr_in *in, enum nfs4_op op, uint32_t *status);
/* len bytes, without a length before them. */
void nfs4_put_fixed(struct xdr_out *out, const uint8_t *bytes, size_t len);
/* A special stateid.  seqid 1: the current one, which an OPEN before it in the same call has set
 * (section 16.2.3.1.2); 0: the anonymous one. */
void nfs4_put_current(struct xdr_out *out, uint32_t seqid);

#endif
