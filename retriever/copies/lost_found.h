/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Removes the directory lost+found that mkfs and e2fsck(8) make at the root of an ext4.  It has no
 * record, so it would be taken for a whole directory of the old server.  At the root of a volume
 * this name belongs to the old server, as every other name does.  So the directory that mkfs has
 * made is removed before the root's record is set.  e2fsck makes the directory in each check if it
 * is not there; in a root that is not filled yet that directory is removed before anything else is
 * made.  In a filled root it is treated like a directory that a local program makes.
 */
#ifndef RETRIEVER_COPIES_LOST_FOUND_H
#define RETRIEVER_COPIES_LOST_FOUND_H

#include "retriever/objects/retriever.h"

/* Removes it, before the root's record is set.  0; -ENOTEMPTY: it is not empty, or is no directory;
 * -errno. */
int lost_found_remove(int root_fd);
/* " (its lost+found has something in it)", or "": for the message that the root is not empty. */
const char *lost_found_text(int root_fd);
/* Called at the start, after counters_load().  Files that e2fsck has put into the directory are set
 * aside with it (aside.h).  FALSE with error set: the directory is still there. */
gboolean lost_found_leaves(struct retriever *retriever, GError **error);

#endif
