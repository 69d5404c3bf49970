/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What follows from a directory that cannot be read, here or on the old server, for what is, or may
 * be, in it: that is left for a later run (LEFT_LATER), and everything else goes on.
 */
#ifndef CTL_ROLLBACK_ALONE_H
#define CTL_ROLLBACK_ALONE_H

#include "ctl/rollback/tree.h"

/* An object here cannot be looked at, or a directory not be read (ret: -errno): it is not compared,
 * and is a line. */
void alone_unread(struct tree *tree, struct node *dir, int ret);
/* After the places at the switch are known: leaves each node that may have a name in one of these.
 */
void alone_leave_unknown(struct tree *tree);
/* Its line: it is unseen. */
void alone_tell(struct tree *tree, struct node *node);
/* A directory cannot be read there: leaves the nodes that are to get a name in it. */
void alone_leave_names(const struct tree *tree, const struct node *dir);
/* Nobody looked for it, as a directory above it could not be looked at there. */
bool alone_is_below_left(const struct node *node);

#endif
