/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides whether the file that the old server has now is the one of which the stub here was made.
 * Versions are never mixed: a served file never has bytes of two versions.
 *
 *   the same fileid, size, mtime and ctime     it is what the stub was made of
 *   the same size and mtime                    it may be: restored from a backup, renamed, or its
 *                                              mode changed; or rewritten by someone who hid it
 *   otherwise                                  it is something else
 *
 * If the file may be the same, and no bytes of it are here yet, it is taken as the same.  If bytes
 * are here, and no client has changed any (MIGRATE_REC_CLIENT), all of the file becomes missing
 * again.  Bytes that clients changed cannot be told from fetched bytes: then the file is not taken,
 * unless the administrator vouches that it is the same (migratectl retry --same).
 *
 * Another file is taken only if the administrator says so (migratectl retry), as a new version with
 * all bytes missing; it is not taken if clients have changed bytes here.
 *
 * A copy takes only the same file: another version has other attributes, too, which the copy's next
 * listing brings.
 */
#ifndef RETRIEVER_DATA_VERSION_H
#define RETRIEVER_DATA_VERSION_H

#include "retriever/objects/object.h"

enum version_trust {
	VERSION_FOUND, /* nobody was asked */
	VERSION_NEW,   /* a new version is wanted */
	VERSION_SAME,  /* as VERSION_NEW; what may be the same is the same */
};

/*
 * Makes the file here a stub of the file that was found.  source: where it is now (handle and
 * path), NULL: where it was.  0; -ESTALE: it is not taken, *reason says why.  Else -errno with
 * *reason.  Waits until clients' changes that are under way have ended: never on the main, a
 * backend or a worker thread.
 */
int version_take(struct object *object, const struct source_object *source,
		 const struct source_attr *attr, enum version_trust trust, enum error_code *error);

#endif
