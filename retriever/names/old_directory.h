/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds a directory of which a client has the old server's handle (`takeover = all`) and whose name
 * is not here yet.  The old server is asked for the directory's parent (LOOKUP of "..", RFC 1813,
 * section 3.3.3), for the parent's parent, and so on, up to a directory that is here; from there on
 * the directories are filled downwards.  This is for directories only: a file's handle does not
 * lead to its directory.
 */
#ifndef RETRIEVER_NAMES_OLD_DIRECTORY_H
#define RETRIEVER_NAMES_OLD_DIRECTORY_H

#include "retriever/objects/retriever.h"

/*
 * 0: the handle is in the index now (old_handles.h).  -ESTALE: the old server has no such object,
 * or not below the source.  -ENOTDIR: the object is no directory.  -ELOOP: more than
 * OLD_DIRECTORY_DEPTH directories above it are not known.  Else -errno: it may be found later.
 * Blocks for the old server and for fills; on a JOB_OLD thread only.
 */
int old_directory_find(struct retriever *retriever, const struct source_object *object);

#define OLD_DIRECTORY_DEPTH 2048

#endif
