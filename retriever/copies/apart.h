/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts a name that was set aside from the file that is served.  Such a name may be a hard link of
 * a file that stays in the tree: in an adopted copy, when one of the names was removed on the old
 * server since.  Bytes that a client writes to that file would then appear in aside/ too, under a
 * name that only the retriever uses.  So the name gets a copy of its own (a clone where the file
 * system can clone) in place of the link.
 *
 * The copy is made in staging/, made durable, and exchanged for the link, which then is removed.  A
 * kill leaves the link or the copy in aside/, and a file in staging/.  While a program writes to
 * the file, and where there is no room, the link stays: journal/apply.h works with any names that a
 * file has.
 */
#ifndef RETRIEVER_COPIES_APART_H
#define RETRIEVER_COPIES_APART_H

#include "retriever/objects/retriever.h"

/* Parts every file at or below name that has names elsewhere.  dir_fd: a directory in aside/.  Any
 * thread; blocks for the disk, for as long as a copy takes.  0, or -errno: some files are links
 * still. */
int apart_make(struct retriever *retriever, int dir_fd, const char *name);
/* The same later, on another thread; name may be removed by then. */
void apart_start(struct retriever *retriever, int dir_fd, const char *name);

#endif
