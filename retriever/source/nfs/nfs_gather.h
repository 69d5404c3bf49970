/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One BACKEND_XATTRS out of several requests: the handle of an object that is known by its path
 * alone, then its ACLs and its user attributes, at the same time, by different protocols.
 */
#ifndef NFS_GATHER_H
#define NFS_GATHER_H

#include "source/backend.h"

/* Who does the parts; each completes the request that it is given, on any thread. */
struct nfs_gather_ways {
	void (*find)(void *user, struct backend_request *req);	/* GETATTR, -> handle */
	void (*acls)(void *user, struct backend_request *req);	/* XATTRS; NULL: not to be had */
	void (*attrs)(void *user, struct backend_request *req); /* likewise */
};
/* -ENOTSUP without ways. */
void nfs_gather(const struct nfs_gather_ways *ways, void *user, struct backend_request *req);

#endif
