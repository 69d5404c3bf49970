/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists directories on both servers, and finds the names of nodes in them. */
#ifndef CTL_ROLLBACK_LISTING_H
#define CTL_ROLLBACK_LISTING_H

#include "ctl/rollback/tree.h"

/*
 * Lists a directory of the new server: sets dir->names, and `wanted` of the active nodes in it. If
 * the directory was made since the switch, an object in it that has no row came with it; if it is
 * doubted (tree_is_doubted()), each object in it is to be compared: such objects are appended to
 * tree->active.  A directory that the retriever has not filled yet is not compared.  0 or -errno;
 * -ESTALE: it is gone.
 */
int listing_here(struct tree *tree, struct node *dir);
/* Lists, on the old server, the directories that are compared, except those that were found just
 * now (THERE_FOUND): objects that are known to be in these were not looked for yet, and would count
 * as objects that the old server has alone.  FALSE with error set. */
bool listing_there(struct tree *tree, GError **error);
/*
 * Walks the whole tree of the new server for names of nodes (a table by inode number), which are
 * added to node->at.  A node that has no name there, and of which the journal knows none either
 * (BELONGS_UNKNOWN), is another tree's: BELONGS_ELSEWHERE.  A node without a name that is in
 * .migrate/, from where the retriever may bring it, is LEFT_UNSAID.  A node that has only names
 * which came since the switch was made since then.
 */
void listing_search(struct tree *tree, GHashTable *nodes);

#endif
