/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Holes of files, told by SEEK (RFC 7862 section 15.11) so that they need not be read.  READ_PLUS
 * would do it in one call, but Linux answers it with data alone (6.0 and later).
 *
 * A server's answer to SEEK is true of that moment only; the attributes that come behind it in the
 * same call, or after it, say whether the file is still the one that was listed, as they do for
 * READ.
 *
 * SEEK costs a call.  So only files that have less space than bytes are asked.  A file that may
 * only be compressed is not asked any more once a SEEK found no hole, until a READ of it ends in
 * zeros or its attributes come anew.
 */
#ifndef LIB_SOURCE_NFS_NFS4_HOLES_H
#define LIB_SOURCE_NFS_NFS4_HOLES_H

#include <stdatomic.h>

#include "lib/source/nfs/nfs4_session.h"

#define NFS4_HOLE_MIN (64u << 10) /* bytes; smaller ones are read */

/* Which files are likely to have holes, by their handles.  Two handles may share a place in the
 * table: a wrong guess costs one call, or the bytes of a hole. */
struct nfs4_holes;
struct nfs4_holes *nfs4_holes_new(void);
void nfs4_holes_free(struct nfs4_holes *holes);
/* Any thread.  holes NULL: nothing is ever known.  seen(): these are the file's
 * attributes.  none(): a SEEK in the file found no hole. */
void nfs4_holes_seen(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len,
		     const struct source_attr *attr);
void nfs4_holes_none(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len,
		     const struct source_attr *attr);
bool nfs4_holes_likely(struct nfs4_holes *holes, const uint8_t *handle, uint32_t len);

#define NFS4_NO_DATA INT64_MAX

/* Asks where data begin at or behind the offset.  opened: by the stateid of the OPEN before it in
 * the same call; else by the anonymous stateid. */
void nfs4_put_seek(struct xdr_out *out, bool opened, uint64_t offset);
/* SEEK's result.  0 and *data: the offset, or NFS4_NO_DATA; *ended: the call ended with this
 * operation; or -errno.
 */
int nfs4_get_seek(struct xdr_in *in, uint64_t offset, uint64_t *data, bool *ended);

/*
 * Answers the READ with zeros, as a hole reaches from its offset to `data`; req->attr is what the
 * file had after SEEK.  The answer has as many bytes as were asked for, or fewer.  FALSE: there is
 * no hole, or too small a one, or nothing is certain.
 */
bool nfs4_give_hole(struct backend_request *req, uint64_t data, uint32_t asked);

#endif
