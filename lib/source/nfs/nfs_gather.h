/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers one BACKEND_XATTRS by several requests: first the handle, if the object is known by its
 * path alone; then at the same time its ACLs, its user attributes and a small file's bytes, by
 * different protocols.
 *
 * The bytes are given only if the attributes that came beside them and those of the listing say
 * that the file did not change meanwhile.  A file that is on tape or cannot be read is no reason to
 * wait or to fail.
 */
#ifndef LIB_SOURCE_NFS_NFS_GATHER_H
#define LIB_SOURCE_NFS_NFS_GATHER_H

#include "lib/source/backend.h"

/* The functions that make the parts' requests; each completes the request that it is given, on any
 * thread. */
struct nfs_gather_ways {
	/* GETATTR, -> handle; READ */
	void (*plain)(void *user, struct backend_request *req);
	void (*acls)(void *user, struct backend_request *req);	/* XATTRS; NULL: it has none */
	void (*attrs)(void *user, struct backend_request *req); /* XATTRS; NULL: as acls */
	bool version4;						/* acls: GETATTR with_acl */
};
/* -ENOTSUP without acls and attrs, unless bytes are wanted. */
void nfs_gather(const struct nfs_gather_ways *ways, void *user, struct backend_request *req);

#endif
