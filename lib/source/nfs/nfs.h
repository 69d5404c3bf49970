/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nfs://: reads an old server by NFS version 3, its ACLs by NFSACL and its user attributes by
 * version 4.2; or reads all by version 4.0, 4.1 or 4.2.
 */
#ifndef LIB_SOURCE_NFS_NFS_H
#define LIB_SOURCE_NFS_NFS_H

#include "lib/source/source.h"

extern const struct backend_ops backend_nfs_ops;

/* For tests: sets how long an answer may take before the connection is closed and made again. */
void backend_nfs_set_stall(struct backend *backend, unsigned ms);

#endif
