/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes and ends contexts of RPCSEC_GSS, the security of Kerberos, with an old server (RFC 2203
 * section 5.2). */
#ifndef LIB_SOURCE_NFS_NFS_CONTEXT_H
#define LIB_SOURCE_NFS_NFS_CONTEXT_H

#include "lib/source/nfs/nfs_server.h"

/*
 * Makes a context for that program of the server, at that address and port.  Waits for a KDC, for
 * another thread that is making a context, and for the server, for it until deadline
 * (g_get_monotonic_time()) or until cancel_fd (-1: none) is readable.  0; -EKEYREJECTED, and *why
 * in words, g_free; or as nfs_call().
 */
int nfs_context_make(struct nfs_server *server, const struct nfs_address *address, unsigned port,
		     uint32_t program, uint32_t version, gint64 deadline, int cancel_fd,
		     struct nfs_gss **gss, char **why);
/*
 * Tells that program of the server to forget the context, unless it is about to end anyway, and
 * frees it.  Waits up to a second; an error does not matter.
 */
void nfs_context_end(const struct nfs_server *server, const struct nfs_address *address,
		     unsigned port, uint32_t program, uint32_t version, struct nfs_gss *gss);

#endif
