/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holes of files, told by SEEK (RFC 7862 section 15.11) so that they need not be read.  READ_PLUS
 * would do it in one call, but Linux answers it with data alone (6.0 and later).
 *
 * Who is asked for a hole says it of the moment; the attributes that come behind it in the same
 * call, or after it, say whether the file is still the one that was listed, as they do for READ.
 *
 * To ask costs a call.  So only files are asked that have less space than bytes; one that may be
 * compressed, no longer once there was no hole where one was asked for, until zeros come.
 */
#ifndef LIB_SOURCE_NFS_NFS4_HOLES_H
#define LIB_SOURCE_NFS_NFS4_HOLES_H

#include <stdatomic.h>

#include "lib/source/nfs/nfs4_session.h"

#define NFS4_HOLE_MIN (64u << 10) /* bytes; smaller ones are read */

/* What is known of files, by their handles: two may share a place, which costs a call, or bytes. */
struct nfs4_holes;
struct nfs4_holes *nfs4_holes_new(void);
void nfs4_holes_free(struct nfs4_holes *holes);
/* Any thread; NULL: nothing is known, ever.  seen: these are its attributes; none: one was asked
 * for in vain. */
void nfs4_holes_seen(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len,
		     const struct source_attr *attr);
void nfs4_holes_none(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len,
		     const struct source_attr *attr);
bool nfs4_holes_likely(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len);

#define NFS4_NO_DATA INT64_MAX

/* Asks where data begin at or behind the offset: by the anonymous stateid, or where the operation
 * before opened the file by that one. */
void nfs4_put_seek(struct xdr_out *out, bool opened, uint64_t offset);
/* Its result.  0 and *data: the offset, or NFS4_NO_DATA; *ended: the call ended there; or -errno.
 */
int nfs4_get_seek(struct xdr_in *in, uint64_t offset, uint64_t *data, bool *ended);

/*
 * The READ's result where nothing but a hole is until `data`, and attr is the file's after that: as
 * much as was asked for, or less.  FALSE: there is no hole that is worth it, or none for sure.
 */
bool nfs4_give_hole(struct backend_request *req, uint64_t data, uint32_t asked);

#endif
