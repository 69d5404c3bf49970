/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens at open. */
#ifndef NFS_MOUNT_H
#define NFS_MOUNT_H

#include "nfs_server.h"

/*
 * Resolves, finds the ports, mounts, and fills in the server's root, its attributes, max_read, and
 * whether it has ACLs and extended attributes. Blocks up to 30 s.
 */
gboolean nfs_server_open(struct nfs_server *server, struct source_attr *root, GError **error);
void nfs_server_clear(struct nfs_server *server);

#endif
