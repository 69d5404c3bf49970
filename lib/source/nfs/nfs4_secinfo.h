/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SECINFO and SECINFO_NO_NAME of NFS version 4 (RFC 8881 sections 18.29 and 18.45): which security
 * flavours a server takes instead of the one that it refused.  Memory only. */
#ifndef LIB_SOURCE_NFS_NFS4_SECINFO_H
#define LIB_SOURCE_NFS_NFS4_SECINFO_H

#include "lib/source/nfs/nfs4_session.h"

/* Asks about a name in the current directory; name NULL: about the current object. */
void nfs4_put_secinfo(struct xdr_out *out, const char *name, size_t len);
/* The result.  sec: the flavour that was refused.  0, and *wants, a constant: the end of a sentence
 * that begins with "the old server wants "; or -errno. */
int nfs4_get_secinfo(struct xdr_in *in, bool named, enum nfs_sec sec, const char **wants);

#endif
