/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What opening has in common, whatever the version (nfs_mount.c, nfs4_mount.c): calls that are
 * waited for. */
#ifndef LIB_SOURCE_NFS_NFS_MOUNTING_H
#define LIB_SOURCE_NFS_NFS_MOUNTING_H

#include "lib/source/nfs/nfs_server.h"

#define NFS_PORT      2049
#define MOUNT_PROGRAM 100005

struct nfs_mounting {
	struct nfs_server *server;
	gint64 deadline;
	const char *last;     /* what was tried last, for the message */
	struct rpc_auth auth; /* of NFS and what is beside it, with a context once there is one */
	char *why;	      /* there is none */
};
void nfs_mounting_init(struct nfs_mounting *m, struct nfs_server *server, gint64 deadline);
void nfs_mounting_clear(struct nfs_mounting *m);

/* One call on a connection of its own, as nfs_call(); -EKEYREJECTED: there is no context for it. */
int nfs_mounting_call(struct nfs_mounting *m, unsigned port, uint32_t program, uint32_t version,
		      uint32_t procedure, const struct xdr_out *args, const uint8_t *start,
		      struct xdr_in *in, uint8_t **memory);
/* Before the next address is asked.  FALSE: there is no time left. */
bool nfs_mounting_pause(struct nfs_mounting *m);

/* FALSE, with the line for what was got, whatever the version; check: what else to look at where
 * the server does not answer. */
gboolean nfs_mounting_explain(const struct nfs_mounting *m, int status, const char *check,
			      GError **error);

#endif
