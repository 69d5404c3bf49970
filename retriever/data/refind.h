/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finding an object again whose handle the old server no longer knows (NFS3ERR_STALE): by its path
 * from the source's root on, which the record of a directory or of a moved object holds, and
 * which for a file in its place is its parent's path and its name; else by its fileid among the
 * entries of its parent (listing.h).  Whether what is found is the file is decided in version.h.
 */
#ifndef RETRIEVER_DATA_REFIND_H
#define RETRIEVER_DATA_REFIND_H

#include "retriever/data/version.h"

/*
 * Starts to look.  Found: the record has the new handle, and found(object) makes the reads or the
 * fill that wait again.  Not found: object_fail(-ESTALE).  Does nothing when it is being looked
 * for.  False: it was looked for in vain too often.  Where a client waits for the object it is
 * looked for with threads and connections that the background does not use.
 */
bool refind_start(struct object *object, void (*found)(struct object *object));
/* For a client who waits for something else of it than its ranges or all its names. */
bool refind_for_client(struct object *object, void (*found)(struct object *object));

/*
 * Files, now, for the administrator (version.h): also another file in its place.  These wait for
 * the old server.
 *
 * refind_anew(): 0, or -errno with *reason; or REFIND_LIST and *place, zeroed before: the directory
 * where the file was has to be listed, by refind_list() with as many others as there are, so that
 * it need not be listed for each.  refind_listed() then: 0, or -errno with *reason.
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
		const char **reason);
void refind_list(struct retriever *retriever, struct refind_place *const *places, guint n);
int refind_listed(struct object *object, enum version_trust trust, struct refind_place *place,
		  const char **reason);
void refind_place_clear(struct refind_place *place);

#endif
