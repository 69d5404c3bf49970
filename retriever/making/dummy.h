/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dummies: names here whose attributes have not been asked for (stub-attributes = lazy; the paper's
 * configuration A).  A dummy is an empty regular file of mode 0 with a DUMMY record, whatever type
 * the object has on the old server.  No client sees a dummy: doors ask for a name before they look
 * at it, and for all names before they list, and then the dummies are replaced.  In a directory
 * that has every name (NAMED), the answer for a name that is not here needs no request to the old
 * server.
 *
 * A dummy is exchanged for the object in one step, so that its name is never gone.
 */
#ifndef RETRIEVER_MAKING_DUMMY_H
#define RETRIEVER_MAKING_DUMMY_H

#include "retriever/objects/retriever.h"

/* inherits: the directory has a default ACL.  path: below the source's root, NULL: not known.  0;
 * -EEXIST: the name is there already; -errno. */
int dummy_create(struct retriever *retriever, int dir_fd, bool inherits,
		 const struct source_entry *entry, const char *path);
bool dummy_is(int dir_fd, const char *name);
/* Removes all dummies that are left: names that the old server does not have any more. */
void dummy_sweep(struct retriever *retriever, int dir_fd);

#endif
