/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the handle of a source's root, from its URL, by NFS version 4. */
#ifndef LIB_SOURCE_NFS_NFS4_MOUNT_H
#define LIB_SOURCE_NFS_NFS4_MOUNT_H

#include "lib/source/nfs/nfs_mounting.h"

/*
 * Finds the root by the highest of the minor versions (bits) that the server has.  0, and the
 * server, its view and *root are filled in; -ENOTSUP: the server has no such version; or as
 * nfs_call(), or a status of nfs4_status().  patient: asks again while the server is away.
 */
int nfs4_find_root(struct nfs_mounting *m, unsigned minors, bool patient, struct source_attr *root);
/* As nfs_server_writable(), of a server that was opened by version 4. */
int nfs4_writable(struct nfs_mounting *m);
/* FALSE, with the line that explains a status of nfs4_find_root(). */
gboolean nfs4_explain(const struct nfs_mounting *m, int status, GError **error);

#endif
