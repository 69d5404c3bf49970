/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a URL to the root's handle by version 4. */
#ifndef LIB_SOURCE_NFS_NFS4_MOUNT_H
#define LIB_SOURCE_NFS_NFS4_MOUNT_H

#include "lib/source/nfs/nfs_mounting.h"

/*
 * The root by version 4: one of those minor versions, the highest that the server has.  0 and the
 * server, its view and *root are filled in; -ENOTSUP: it has none of them; or as nfs_call(), or a
 * status of nfs4_status().  Asks again while the server is away, if it is patient.
 */
int nfs4_find_root(struct nfs_mounting *m, unsigned minors, bool patient, struct source_attr *root);
/* FALSE, with the line for what that gave. */
gboolean nfs4_explain(const struct nfs_mounting *m, int status, GError **error);

#endif
