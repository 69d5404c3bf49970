/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is set aside is not what is served.
 *
 * A name that is set aside may be a hard link of a file that stays in the tree: of an adopted copy
 * whose old server has removed one of the names since.  What a client writes to that file would be
 * in aside/ too, and under a name of ours.  So the name gets a copy of its own (a clone where the
 * file system has them) in place of the link.
 *
 * The copy is made in staging/, durable, and exchanged for the link, which then is removed: who is
 * killed leaves the link or the copy in aside/, and something in staging/.  While somebody writes
 * to the file, and where there is no room, the link stays: journal/apply.h holds whatever names a
 * file has.
 */
#ifndef RETRIEVER_COPIES_APART_H
#define RETRIEVER_COPIES_APART_H

#include "retriever/objects/retriever.h"

/* For all at name in dir_fd, a directory in aside/, that has names elsewhere.  Any thread; blocks
 * for the disk, for as long as a copy takes.  0 or -errno: some are links still. */
int apart_make(struct retriever *retriever, int dir_fd, const char *name);
/* The same later; name may be gone by then. */
void apart_start(struct retriever *retriever, int dir_fd, const char *name);

#endif
