/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A directory that cannot be read, on the new server or on the old one, holds back only the objects
 * that are, or may be, in it: they are left for a later run (LEFT_LATER), and everything else is
 * carried.
 */
#ifndef CTL_ROLLBACK_ALONE_H
#define CTL_ROLLBACK_ALONE_H

#include "ctl/rollback/tree.h"

/* Marks an object of the new server that cannot be looked at, or a directory of it that cannot be
 * read (ret: -errno): it is not compared, is left for a later run, and gets its line by
 * alone_tell(). */
void alone_unread(struct tree *tree, struct node *dir, int ret);
/* Call it when the places at the switch are known: leaves each node that may have a name in a
 * directory that could not be read. */
void alone_leave_unknown(struct tree *tree);
/* Lists a node that could not be looked at, with the reason (node->unseen). */
void alone_tell(struct tree *tree, struct node *node);
/* A directory cannot be read on the old server: leaves the nodes that are to get a name in it. */
void alone_leave_names(const struct tree *tree, const struct node *dir);
/* Whether nobody looked for the node on the old server because a directory above it could not be
 * looked at there. */
bool alone_is_below_left(const struct node *node);

#endif
