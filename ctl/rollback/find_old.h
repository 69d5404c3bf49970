/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding objects on the old server: by the numbers that are known, else by their places. */
#ifndef CTL_ROLLBACK_FIND_OLD_H
#define CTL_ROLLBACK_FIND_OLD_H

#include "ctl/rollback/tree.h"

/* Looks at it on the old server, where it is known to be or may be.  0, also where that cannot be
 * seen and the node is left; or -errno: nothing can be seen there. */
int find_old(struct tree *tree, struct node *node);
/* A name of it was found there; dir: NULL is TARGET_STAGE, and it is the first of them then.  0 or
 * -errno. */
int find_old_noted(struct tree *tree, struct node *node, struct node *dir, const char *name);

#endif
