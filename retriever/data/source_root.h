/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps the handle of the source's root on the old server, from which objects are found again
 * (refind.h).  The handle is asked for when the retriever starts, and again when the old server
 * does not know it any more, because the tree is exported anew, with other handles, or is not
 * exported yet after a restart.  Until it is known again the old server counts as away, and the
 * objects below the root do not fail.
 */
#ifndef RETRIEVER_DATA_SOURCE_ROOT_H
#define RETRIEVER_DATA_SOURCE_ROOT_H

#include "retriever/objects/retriever.h"

/* Gets the root as it is known now.  The caller calls source_object_clear() after. */
void source_root_get(struct retriever *retriever, struct source_object *root,
		     struct source_attr *attr);
/* Asks for the root's attributes anew.  0 or -errno.  On a thread that may wait for the old server.
 */
int source_root_look(struct retriever *retriever);
/*
 * The old server does not know root any more: waits until it answers for the root again, and takes
 * the new handle.  0: use source_root_get() again; -ECANCELED: the retriever is being closed.  On a
 * thread that may wait for the old server.
 */
int source_root_renew(struct retriever *retriever, const struct source_object *root);

#endif
