/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a request of version 4 gets to its object: by its handle, or by its path from the server's
 * own root, some names in a call.  Where the server refuses the security flavour for an object, it
 * is asked which flavours it takes.  Memory only.
 */
#ifndef LIB_SOURCE_NFS_NFS4_WALK_H
#define LIB_SOURCE_NFS_NFS4_WALK_H

#include "lib/source/nfs/nfs4_session.h"

struct nfs4_walk {
	struct nfs_handle at; /* len 0: the server's root */
	char *path;	      /* from the server's root; NULL: by the request's handle */
	const char *rest;     /* of path: the names still to be walked */
	uint32_t most;	      /* names in a call */
	uint32_t found;	      /* names of the last call */
	bool refused;	      /* the server refuses our flavour, ... */
	const char *name;     /* ... for this name below `at`; NULL: for `at` itself */
};

/* Begins the way to the request's object, which nfs_check_object() has seen. */
void nfs4_walk_begin(struct nfs4_walk *walk, const struct nfs_view *view,
		     const struct source_object *object);
void nfs4_walk_end(struct nfs4_walk *walk);

/* Whether the next call only walks. */
bool nfs4_walk_goes_on(const struct nfs4_walk *walk);
/* A call that only walks: the number of its operations after the handle, the operations, and its
 * result, which is NFS_CALL_AGAIN or -errno. */
uint32_t nfs4_walk_count(const struct nfs4_walk *walk);
void nfs4_walk_put(const struct nfs4_walk *walk, struct xdr_out *out);
int nfs4_walk_get(struct nfs4_walk *walk, struct xdr_in *in);

/*
 * A call ended with -ENOKEY; started: behind its handle.  The next call asks for flavours; its
 * result is -EACCES, or what is to be done again, and the first one's is told the view, and, once
 * all is open, the log.  object, name: the request's; name NULL: it has none.
 */
int nfs4_walk_refuse(struct nfs4_walk *walk, bool started, const char *name);
int nfs4_walk_get_flavours(struct nfs4_walk *walk, struct nfs_view *view, const char *object,
			   struct xdr_in *in);

/* GETFH's result. */
int nfs4_get_getfh(struct xdr_in *in, struct nfs_handle *handle);

#endif
