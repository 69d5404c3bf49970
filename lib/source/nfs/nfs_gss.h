/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RPCSEC_GSS version 1 (RFC 2203): what a call and its reply carry once there is a context
 * (nfs_context.h).  Memory only, and one thread.
 *
 * A server silently drops a call whose sequence number is as much as its window (32 for
 * NFS-Ganesha, 128 for Linux) below the highest one that it has seen, and it looks at calls in
 * whatever order its threads get to them.  So each connection has a context of its own, and makes
 * no call while a call that is as much as the window behind is not answered; except that a call
 * without an answer for more than a second is taken to have been looked at, and to wait for a disk.
 * A call at the very edge of the window has to be answered, too: NFS-Ganesha 4.3 keeps the window
 * in a word of 32 bits, which it shifts by how far a call is ahead.  Processors take a shift by 32
 * for one by 0, and then all calls under way count as seen and are dropped.
 */
#ifndef LIB_SOURCE_NFS_NFS_GSS_H
#define LIB_SOURCE_NFS_NFS_GSS_H

#include <glib.h>
#include <gssapi/gssapi.h>
#include <stdint.h>

#include "lib/config/nfs_url.h"
#include "lib/source/nfs/nfs_xdr.h"

#define RPCSEC_GSS_FLAVOR 6
#define NFS_GSS_VERSION	  1
#define NFS_GSS_HANDLE	  128u		 /* bytes of a server's name for a context, at most */
#define NFS_GSS_CALL	  768u		 /* bytes that a call gets longer by, at most */
#define NFS_GSS_LOOKED	  G_USEC_PER_SEC /* us, after which a call was looked at */
#define NFS_GSS_CALLS	  1024u		 /* xids of calls under way differ modulo this */

enum nfs_gss_procedure { NFS_GSS_DATA, NFS_GSS_INIT, NFS_GSS_CONTINUE, NFS_GSS_DESTROY };

struct nfs_gss;
/*
 * Takes over the context.  sec: not NFS_SEC_SYS.  handle: at most NFS_GSS_HANDLE bytes.  window:
 * the server's.  until: when it ends (g_get_monotonic_time()).
 */
struct nfs_gss *nfs_gss_new(gss_ctx_id_t context, enum nfs_sec sec, const uint8_t *handle,
			    uint32_t handle_len, uint32_t window, int64_t until);
void nfs_gss_free(struct nfs_gss *gss);

/* How many calls may be under way: one less than the server's window. */
unsigned nfs_gss_window(const struct nfs_gss *gss);
/* Whether a call may be made now. */
bool nfs_gss_has_room(const struct nfs_gss *gss);
/* Some reply came to the call with that xid. */
void nfs_gss_answered(struct nfs_gss *gss, uint32_t xid);
/* Whether it is time for another context. */
bool nfs_gss_is_worn(const struct nfs_gss *gss, int64_t now);

/* The next call, of the procedure NULL, is the context's last: it tells the server to forget the
 * context (RFC 2203 section 5.4).
 */
void nfs_gss_end(struct nfs_gss *gss);

/* A credential (RFC 2203 section 5.2.2 and 5.3.1). */
void nfs_gss_put_credential(struct xdr_out *out, enum nfs_gss_procedure procedure,
			    uint32_t sequence, enum nfs_sec sec, const uint8_t *handle,
			    uint32_t handle_len);

/* Puts credential and verifier behind a call's header, which starts at `header`; the call's
 * arguments follow. */
void nfs_gss_begin(struct nfs_gss *gss, uint32_t xid, const uint8_t *header, struct xdr_out *out);
/* Call it when the arguments are put. */
void nfs_gss_finish(struct nfs_gss *gss, struct xdr_out *out);

/*
 * Opens the accepted reply to the call with that xid, which must be among the last NFS_GSS_CALLS.
 * status: as rpc_reply_begin() says.  *in: the rest of the reply, which is changed; afterwards the
 * procedure's result.  That status, or -EKEYREJECTED when the reply is not the server's.
 */
int nfs_gss_open(struct nfs_gss *gss, uint32_t xid, const uint8_t *verifier, uint32_t len,
		 int status, struct xdr_in *in);

/* Whether the MIC (signature) is the peer's over that number. */
bool nfs_gss_is_signed(gss_ctx_id_t context, uint32_t number, const uint8_t *mic, uint32_t len);

#endif
