/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes contexts of RPCSEC_GSS with an old server (RFC 2203 section 5.2). */
#ifndef LIB_SOURCE_NFS_NFS_CONTEXT_H
#define LIB_SOURCE_NFS_NFS_CONTEXT_H

#include "lib/source/nfs/nfs_server.h"

/*
 * One for that program of the server, at that address and port.  Waits: for a KDC, for whoever else
 * makes one, and until deadline (g_get_monotonic_time()) or until cancel_fd (-1: none) is readable
 * for the server.  0; -EKEYREJECTED, and *why in words, g_free; or as nfs_call().
 */
int nfs_context_make(struct nfs_server *server, const struct nfs_address *address, unsigned port,
		     uint32_t program, uint32_t version, gint64 deadline, int cancel_fd,
		     struct nfs_gss **gss, char **why);
/*
 * Tells that program of the server to forget it, and frees it.  One that is about to end is not
 * worth a call.  Waits up to a second; what comes of it is of no matter.
 */
void nfs_context_end(const struct nfs_server *server, const struct nfs_address *address,
		     unsigned port, uint32_t program, uint32_t version, struct nfs_gss *gss);

#endif
