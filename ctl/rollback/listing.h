/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in directories. */
#ifndef CTL_ROLLBACK_LISTING_H
#define CTL_ROLLBACK_LISTING_H

#include "ctl/rollback/tree.h"

/*
 * Lists a directory: dir->names, and `wanted` of the active nodes in it.  What is in one that was
 * made, and has no row, came with it: it is appended to tree->active; what is in one that is
 * doubted (tree_is_doubted()), too, to be compared.  A directory that the retriever has not filled
 * yet is not compared.  0 or -errno; -ESTALE: it is gone.
 */
int listing_here(struct tree *tree, struct node *dir);
/* Lists those on the old server that are compared, but for what was found just now: what is known
 * to be in that was not looked for yet, and would count as what the old server has alone.  FALSE
 * with error set. */
bool listing_there(struct tree *tree, GError **error);
/*
 * Walks the whole tree for names of nodes (by inode number), which go to node->at.  A node of which
 * the journal knows no name either (BELONGS_UNKNOWN) and that is nowhere is another tree's: then it
 * is BELONGS_ELSEWHERE; and LEFT_UNSAID where it is in .migrate/, from where the retriever may
 * bring it.  One that has only names which came since the switch was made.
 */
void listing_search(struct tree *tree, GHashTable *nodes);
/* Whether the administrator gave up the name (migratectl skip), so that it never was here; or one
 * like it somewhere else. */
bool listing_was_skipped(struct tree *tree, const struct node *node);
/* Likewise of what the directory has there, or one above it: nobody knows what that was, so nothing
 * of it was removed here. */
bool listing_left(struct tree *tree, const struct node *dir);

/* Whether the old server's object came here as several files, by the report of losses; asked for
 * one with several names there. */
bool listing_is_parted(struct tree *tree, uint64_t fileid);

#endif
