/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One BACKEND_XATTRS out of several requests: the handle of an object that is known by its path
 * alone, then its ACLs, its user attributes and a small file's bytes, at the same time, by
 * different protocols.
 *
 * The bytes come only if all that was answered beside them is of the same moment as they, and as
 * the listing before.  One that is on tape or cannot be read is no reason to wait or to fail.
 */
#ifndef LIB_SOURCE_NFS_NFS_GATHER_H
#define LIB_SOURCE_NFS_NFS_GATHER_H

#include "lib/source/backend.h"

/* Who does the parts; each completes the request that it is given, on any thread. */
struct nfs_gather_ways {
	/* GETATTR, -> handle; READ */
	void (*plain)(void *user, struct backend_request *req);
	void (*acls)(void *user, struct backend_request *req);	/* XATTRS; NULL: not to be had */
	void (*attrs)(void *user, struct backend_request *req); /* likewise */
	bool version4;						/* acls: GETATTR with_acl */
};
/* -ENOTSUP without ways, unless bytes are wanted. */
void nfs_gather(const struct nfs_gather_ways *ways, void *user, struct backend_request *req);

#endif
