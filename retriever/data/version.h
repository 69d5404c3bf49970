/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the old server has now in the place of a file whose stub is here, and whether the stub is
 * one of it.  Nothing mixed is served: bytes of one version are never joined by those of another.
 *
 *   the same fileid, size, mtime and ctime     it is what the stub was made of
 *   the same size and mtime                    it may be: restored from a backup, renamed, or its
 *                                              mode changed; or rewritten by someone who hid it
 *   otherwise                                  it is something else
 *
 * Where it may be the same, and nothing of the file is here yet, it is taken for it.  Where bytes
 * are here, and no client has changed any (MIGRATE_REC_CLIENT), all of it becomes missing again.
 * Bytes that clients changed cannot be told from those that were fetched: then it is not taken,
 * unless the administrator gives his word that it is the same (migratectl retry --same).
 *
 * Something else is taken if the administrator says so (migratectl retry), as a new version, all of
 * it missing; and not even then where clients have changed bytes here.
 *
 * A copy takes only what is the same: another version has other attributes, too, which its next
 * listing brings.
 */
#ifndef RETRIEVER_DATA_VERSION_H
#define RETRIEVER_DATA_VERSION_H

#include "retriever/objects/object.h"

#define VERSION_GONE                                                                               \
	"the object is gone from the old server: restore it there and run migratectl retry, or "   \
	"remove it here"
#define VERSION_REPLACED                                                                           \
	"the file was changed on the old server since its stub was made, by one that replaced "    \
	"it: migratectl retry takes the new version"

#define VERSION_LEFT                                                                               \
	"the file was changed on the old server while it was copied: the next run takes it"

enum version_trust {
	VERSION_FOUND, /* nobody was asked */
	VERSION_NEW,   /* a new version is wanted */
	VERSION_SAME,  /* likewise, and what may be the same is */
};

/*
 * Makes the file a stub of what was found.  source: where it is now (handle and path), NULL: where
 * it was.  0; -ESTALE: it is not taken, *reason says why.  Else -errno with *reason.  Waits until
 * clients' changes that are under way have ended: never on the main, a backend or a worker thread.
 */
int version_take(struct object *object, const struct source_object *source,
		 const struct source_attr *attr, enum version_trust trust, const char **reason);

#endif
