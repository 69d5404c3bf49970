/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What nfs_mount.c and nfs4_mount.c have in common when they open a source: calls that are waited
 * for. */
#ifndef LIB_SOURCE_NFS_NFS_MOUNTING_H
#define LIB_SOURCE_NFS_NFS_MOUNTING_H

#include "lib/source/nfs/nfs_server.h"

#define NFS_PORT      2049
#define MOUNT_PROGRAM 100005
/* MODIFY, EXTEND and DELETE of ACCESS (RFC 1813 section 3.3.4, RFC 8881 section 18.1). */
#define NFS_ACCESS_CHANGE 0x1cu
/* Names in a message. */
#define NFS_EXPORTS_SHOWN 8

struct nfs_mounting {
	struct nfs_server *server;
	gint64 deadline;
	const char *last;     /* what was tried last, for the message */
	struct rpc_auth auth; /* for NFS and NFSACL, with a context once there is one */
	char *why;	      /* why there is no context */
	char *has;	      /* by version 4: what there is where the path ends */
};
void nfs_mounting_init(struct nfs_mounting *m, struct nfs_server *server, gint64 deadline);
void nfs_mounting_clear(struct nfs_mounting *m);

/* One call on a connection of its own, as nfs_call(); -EKEYREJECTED: no context could be made. */
int nfs_mounting_call(struct nfs_mounting *m, unsigned port, uint32_t program, uint32_t version,
		      uint32_t procedure, const struct xdr_out *args, const uint8_t *start,
		      struct xdr_in *in, uint8_t **memory);
/* Waits before the next address is asked.  FALSE: there is no time left. */
bool nfs_mounting_pause(struct nfs_mounting *m);

/* FALSE, with the line that explains the status, for any version.  check: what else the
 * administrator should look at where the server does not answer. */
gboolean nfs_mounting_explain(const struct nfs_mounting *m, int status, const char *check,
			      GError **error);

#endif
