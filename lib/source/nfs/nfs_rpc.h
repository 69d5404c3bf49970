/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONC RPC version 2 over TCP (RFC 5531): call headers with AUTH_SYS or RPCSEC_GSS, reply headers,
 * and records cut out of the byte stream.  Memory only: no sockets here.
 *
 * The project does not use libnfs because of I10: libnfs decodes replies before its user can see
 * them, and a hostile MOUNT reply overflows its heap (4.0.0, still so in Debian's 4.0.0-1+deb12u1).
 */
#ifndef LIB_SOURCE_NFS_NFS_RPC_H
#define LIB_SOURCE_NFS_NFS_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/source/nfs/nfs_gss.h"
#include "lib/source/nfs/nfs_xdr.h"

#define RPC_CALL_MAX   (768 + NFS_GSS_CALL)	     /* bytes of any call, with its record mark */
#define RPC_RECORD_MAX ((size_t)1024 * 1024 + 65536) /* the largest reply that is taken */
#define RPC_CHUNK      ((size_t)65536)

/* What calls are authenticated by: a context of RPCSEC_GSS, or credential and verifier, encoded
 * once. */
struct rpc_auth {
	struct nfs_gss *gss; /* NULL: bytes */
	uint8_t bytes[256];
	size_t len;
};
/* AUTH_SYS (RFC 5531 appendix A). */
void rpc_auth_init(struct rpc_auth *auth, uint32_t uid, uint32_t gid);

/* begin puts what every call starts with, with room for the record mark; finish, with the same
 * auth, puts the mark there. */
void rpc_call_begin(struct xdr_out *out, const struct rpc_auth *auth, uint32_t xid,
		    uint32_t program, uint32_t version, uint32_t procedure);
void rpc_call_finish(struct xdr_out *out, const struct rpc_auth *auth, uint8_t *start);

struct rpc_reply {
	uint32_t xid;
	bool accepted;
	const uint8_t *verifier; /* in the record */
	uint32_t verifier_len;
};

/*
 * Reads a reply's header up to the procedure's result.  0; or -EBADMSG (no reply, or garbled),
 * -EACCES (the server refuses the credential), -EKEYEXPIRED (the server refuses the context),
 * -EAGAIN (the program is not there: a server that is starting), -ENOTSUP (no such procedure),
 * -EREMOTEIO.
 */
int rpc_reply_begin(struct xdr_in *in, struct rpc_reply *reply);
/*
 * Checks that the reply is the server's, and makes *in the procedure's result, within the record.
 * status: of rpc_reply_begin().  That status, or -EKEYREJECTED: the reply is not the server's.
 */
int rpc_reply_open(const struct rpc_auth *auth, const struct rpc_reply *reply, int status,
		   struct xdr_in *in);
/* Whether a status of rpc_reply_open() asks for another context, and for the same call again. */
bool rpc_is_stranger(int status);

/*
 * The receive side.  Replies are used where they were received; a record of several fragments is
 * closed up in place, each byte once.  The buffer never grows, whatever the server sends.
 */
struct rpc_stream {
	uint8_t *buf;
	size_t size;	 /* of buf */
	size_t base;	 /* where the present record starts */
	size_t len;	 /* bytes of the record that are there, one after the other */
	size_t next;	 /* where the record's next fragment, or the rest of one, starts */
	size_t fragment; /* bytes of its present fragment still to come */
	size_t end;	 /* of all that was received */
	bool in_fragment, last;
};
void rpc_stream_init(struct rpc_stream *stream);
void rpc_stream_clear(struct rpc_stream *stream);
/* For a new connection. */
void rpc_stream_reset(struct rpc_stream *stream);
/* room: where to receive, and how many bytes at most; received: how many came.  room invalidates
 * records. */
uint8_t *rpc_stream_room(struct rpc_stream *stream, size_t *size);
void rpc_stream_received(struct rpc_stream *stream, size_t size);
/*
 * 1 and the next whole record, valid until rpc_stream_room(); 0: more has to come; -EMSGSIZE: the
 * record is too large, *record has its first four bytes (the xid), and the stream cannot be used
 * any more.
 */
int rpc_stream_next(struct rpc_stream *stream, struct xdr_in *record);

#endif
