/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nfs://: an old server by NFS version 3, with ACLs by NFSACL and user attributes by version 4.2,
 * or by version 4.1 or 4.2 alone.
 */
#ifndef LIB_SOURCE_NFS_NFS_H
#define LIB_SOURCE_NFS_NFS_H

#include "lib/source/source.h"

extern const struct backend_ops backend_nfs_ops;

/* For tests: how long an answer may take before the connection is given up. */
void backend_nfs_set_stall(struct backend *backend, unsigned ms);

#endif
