/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The source's root on the old server, from which objects are found again (refind.h).  It is asked
 * for when the retriever starts, and again when the old server does not know its handle any more:
 * the tree is exported anew, with other handles, or is not exported yet after a restart.  That is
 * an old server that is away, and no failure of the objects below.
 */
#ifndef RETRIEVER_DATA_SOURCE_ROOT_H
#define RETRIEVER_DATA_SOURCE_ROOT_H

#include "retriever/objects/retriever.h"

/* As it is known now.  source_object_clear() after. */
void source_root_get(struct retriever *retriever, struct source_object *root,
		     struct source_attr *attr);
/* Asks for its attributes anew.  0 or -errno.  On a thread that may wait for the old server. */
int source_root_look(struct retriever *retriever);
/*
 * root is not known there any more: waits until it can be asked for again, and takes what comes.
 * 0: use source_root_get() again; -ECANCELED: the retriever is being closed.  On a thread that may
 * wait for the old server.
 */
int source_root_renew(struct retriever *retriever, const struct source_object *root);

#endif
