/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks, before the way back writes to a tree, that it is the one that the volume came from. */
#ifndef CTL_ROLLBACK_CHECK_TREE_H
#define CTL_ROLLBACK_CHECK_TREE_H

#include "ctl/rollback/tree.h"

/* Whether root and to are different directories, and neither is in the other.  FALSE with error
 * set: one line. */
bool check_apart(const char *root, const char *to, GError **error);
/*
 * Whether tree->target is the tree that the volume came from.  It is told by its root's fileid, if
 * the volume's root is unfinished or something was carried before; and by the names in the root
 * that nobody changed, or, if there are none, by the names that changed objects had there at the
 * switch. At least half of these names must be there with the same types, or objects that look the
 * same under other names.  An empty tree, with that fileid or not, must have been known to be
 * empty: its time of modification is the one that was noted.  FALSE with error set: one line.
 */
bool check_same_tree(struct tree *tree, GError **error);

#endif
