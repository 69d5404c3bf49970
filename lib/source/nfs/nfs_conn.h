/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_NFS_NFS_CONN_H
#define LIB_SOURCE_NFS_NFS_CONN_H

#include "lib/source/nfs/nfs_server.h"

struct nfs_conn;
/*
 * A connection to that service; it connects at once, or when there is something to do.  NULL: no
 * thread could be started.  A connection that is made while service->trial is NULL becomes the
 * trial and has one call under way at a time.  unhurried: the connection's thread has less weight
 * (thread.h) while it has background requests only.
 */
struct nfs_conn *nfs_conn_new(struct nfs_server *server, struct nfs_service *service, bool at_once,
			      bool unhurried);
/* Cancels all requests of the connection, and from then on each that is submitted. */
void nfs_conn_stop(struct nfs_conn *conn);
/* After stop: waits until all is cancelled.  Other threads may still submit requests until free. */
void nfs_conn_join(struct nfs_conn *conn);
void nfs_conn_free(struct nfs_conn *conn);
void nfs_conn_submit(struct nfs_conn *conn, struct backend_request *req);
/* How much is under way, in no particular unit: to compare connections with. */
unsigned nfs_conn_load(struct nfs_conn *conn);

#endif
