/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether what is mounted is the tree that the volume came from. */
#ifndef CTL_ROLLBACK_CHECK_TREE_H
#define CTL_ROLLBACK_CHECK_TREE_H

#include "ctl/rollback/tree.h"

/* Neither is the other, nor in it.  FALSE with error set: one line. */
bool check_apart(const char *root, const char *to, GError **error);
/*
 * By its root's fileid, where the volume's root is unfinished or something was carried before; and
 * by the names in the root that nobody changed, or if there are none the ones at the switch of what
 * was changed: most of them must be there, as the same types, or what looks like them by other
 * names.  An empty tree, with that fileid or not, must have been known to be empty: its time of
 * modification is the one that was noted.  FALSE with error set: one line.
 */
bool check_same_tree(struct tree *tree, GError **error);

#endif
