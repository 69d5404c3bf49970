/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finding an object again whose handle the old server no longer knows (NFS3ERR_STALE): by its path
 * from the source's root on, which the record of a directory or of a moved object holds, and
 * which for a file in its place is its parent's path and its name; else by its fileid among the
 * entries of its parent (listing.h).  Whether what is found is the file is decided in version.h.
 */
#ifndef REFIND_H
#define REFIND_H

#include "version.h"

/*
 * Starts to look.  Found: the record has the new handle, and found(object) makes the reads or the
 * fill that wait again.  Not found: object_fail(-ESTALE).  Does nothing when it is being looked
 * for.  False: it was looked for in vain too often.  Where a client waits for the object it is
 * looked for with threads and connections that the background does not use.
 */
bool refind_start(struct object *object, void (*found)(struct object *object));
/* For a client who waits for something else of it than its ranges or all its names. */
bool refind_for_client(struct object *object, void (*found)(struct object *object));

/* A file, now, for the administrator (version.h): also another file in its place.  Waits for the
 * old server.  0, or -errno with *reason. */
int refind_anew(struct object *object, enum version_trust trust, const char **reason);

#endif
