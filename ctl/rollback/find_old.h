/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds objects on the old server: by their fileids if these are known, else by their places. */
#ifndef CTL_ROLLBACK_FIND_OLD_H
#define CTL_ROLLBACK_FIND_OLD_H

#include "ctl/rollback/tree.h"

/* Looks for the node's object on the old server, where it is known to be or may be.  0: node->there
 * tells whether it was found; also if its place cannot be looked at, and the node is left for a
 * later run.  -errno: nothing on the old server can be looked at. */
int find_old(struct tree *tree, struct node *node);
/* Adds a name of the node that was found on the old server, in dir, to node->at.  dir NULL:
 * TARGET_STAGE; that name becomes the first one.  0 or -errno. */
int find_old_noted(struct tree *tree, struct node *node, struct node *dir, const char *name);

#endif
