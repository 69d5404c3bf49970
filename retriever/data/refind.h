/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds an object again on the old server when its handle is no longer known there (NFS3ERR_STALE).
 * First it looks up the object's path from the source's root: the record of a directory or of a
 * moved object holds that path; for a file in its place it is the parent's path and the file's
 * name.  Else it looks for the object's fileid among the entries of its parent (listing.h).
 * version.h decides whether the object that is found is the file.
 */
#ifndef RETRIEVER_DATA_REFIND_H
#define RETRIEVER_DATA_REFIND_H

#include "retriever/data/version.h"

/*
 * Starts a search.  Found: the record has the new handle, and found(object) makes the waiting reads
 * or the waiting fill again.  Not found: object_fail(-ESTALE).  Does nothing when a search is under
 * way.  False: too many searches were in vain.  If a client waits for the object, the search uses
 * threads and connections that the background does not use.
 */
bool refind_start(struct object *object, void (*found)(struct object *object));
/* The same for a client that waits for something else than the object's ranges or all its names. */
bool refind_for_client(struct object *object, void (*found)(struct object *object));

/*
 * These three search for a file at once, for the administrator (version.h), and also accept another
 * file in its place.  They wait for the old server.
 *
 * refind_anew(): 0; -errno with *error; or REFIND_LIST with *place, which was zeroed before: the
 * directory where the file was has to be listed.  refind_list() does that for many files at once,
 * so that a directory need not be listed for each file.  Then refind_listed(): 0, or -errno with
 * *error.
 */
#define REFIND_LIST 1

struct refind_place {
	struct source_object directory;
	uint64_t fileid;
	bool replaced; /* another file has its path */
	int status;    /* of refind_list() */
	char *name;
};

int refind_anew(struct object *object, enum version_trust trust, struct refind_place *place,
		enum error_code *error);
void refind_list(struct retriever *retriever, struct refind_place *const *places, guint n);
int refind_listed(struct object *object, enum version_trust trust, struct refind_place *place,
		  enum error_code *error);
void refind_place_clear(struct refind_place *place);

#endif
