/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_NFS_NFS_CONN_H
#define LIB_SOURCE_NFS_NFS_CONN_H

#include "lib/source/nfs/nfs_server.h"

struct nfs_conn;
/*
 * Connects to that service, when there is something to do, or at once.  NULL: no thread to be had.
 * One that is made before there is service->trial is to be that: it has one call under way at a
 * time.  unhurried: its thread has less weight (thread.h) while it has background requests only.
 */
struct nfs_conn *nfs_conn_new(struct nfs_server *server, struct nfs_service *service, bool at_once,
			      bool unhurried);
/* Cancels all that it has; from then on everything submitted is cancelled. */
void nfs_conn_stop(struct nfs_conn *conn);
/* After stop: waits until all is cancelled.  Others may still submit to it until free. */
void nfs_conn_join(struct nfs_conn *conn);
void nfs_conn_free(struct nfs_conn *conn);
void nfs_conn_submit(struct nfs_conn *conn, struct backend_request *req);
/* How much there is under way, in no particular unit. */
unsigned nfs_conn_load(struct nfs_conn *conn);

#endif
