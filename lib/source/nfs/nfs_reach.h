/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connects to a program of an old server.  What an administrator has to mend is told the log
 * (nfs_complaint.h). */
#ifndef LIB_SOURCE_NFS_NFS_REACH_H
#define LIB_SOURCE_NFS_NFS_REACH_H

#include "lib/source/nfs/nfs_server.h"

#define NFS_REACH_SECONDS 10

/* Asks rpcbind for the program's port, unless the URL names it: the server may have come back on
 * another port.  Waits up to 2 s, or until cancel_fd is readable. */
void nfs_reach_ask_port(const struct nfs_server *server, struct nfs_service *service,
			int cancel_fd);
/*
 * Connects to the program at that one of the server's addresses.  TRUE, and *link: the connection,
 * which may still be in the making, except with TLS; and *gss: a context for it where sec= wants
 * one.  Waits up to NFS_REACH_SECONDS each for TLS and for the context, or until cancel_fd is
 * readable.
 */
bool nfs_reach_connect(struct nfs_server *server, struct nfs_service *service, size_t address,
		       int cancel_fd, struct nfs_link *link, struct nfs_gss **gss);
/* Ends and frees *gss, which may be NULL, and tells the server: waits up to a second. */
void nfs_reach_end_context(const struct nfs_server *server, struct nfs_service *service,
			   size_t address, struct nfs_gss **gss);
/* Tells the log why the server ended the connection, if it has to be mended.  err: the errno of
 * nfs_link_receive(); 0: none. */
void nfs_reach_ended(struct nfs_server *server, const struct nfs_link *link, int err);

#endif
