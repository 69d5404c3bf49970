/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A directory that a client remembers from the old server (`takeover = all`), and whose name is not
 * here yet: the old server says which directories it is in (LOOKUP of "..", RFC 1813, section
 * 3.3.3), up to one that is here, and from there on they are filled downwards.  A file's handle
 * does not lead to its directory.
 */
#ifndef RETRIEVER_NAMES_OLD_DIRECTORY_H
#define RETRIEVER_NAMES_OLD_DIRECTORY_H

#include "retriever/objects/retriever.h"

/*
 * 0: it is known by now (old_handles.h).  -ESTALE: the old server has no such object, or not below
 * the source.  -ENOTDIR: it is no directory.  -ELOOP: it is in more than OLD_DIRECTORY_DEPTH
 * directories that are not known.  Else -errno: it may be found later.  Blocks for the old server
 * and for fills; on a JOB_OLD alone.
 */
int old_directory_find(struct retriever *retriever, const struct source_object *object);

#define OLD_DIRECTORY_DEPTH 2048

#endif
