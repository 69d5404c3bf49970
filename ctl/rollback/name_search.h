/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of which no name is here, because all names that they have left are in directories that are
 * not filled here. */
#ifndef CTL_ROLLBACK_NAME_SEARCH_H
#define CTL_ROLLBACK_NAME_SEARCH_H

#include "ctl/rollback/tree.h"

/*
 * A file that had several names, of which clients have removed those that are here, is in
 * .migrate/links alone, and may be open.  If there are such nodes, the old server's whole tree is
 * walked for the names that they have there, which are added to node->at.  A name that belongs to
 * another object here is not added; a node that has no name then is nameless (BELONGS_NOWHERE).
 *
 * While clients go on here (tree->serving), such a node is left for a later run (LEFT_LATER)
 * instead. The retriever has still to make one of its names, and knows by the link count on the old
 * server that it is a name of the same file; if the other names were removed there, the retriever
 * would make a file of its own.  0 or -errno.
 */
int name_search_run(struct tree *tree);
/* Sets node->fileid of active nodes that are files with several names on the old server, and whole:
 * .migrate/links tells the fileids.  Call it before the nodes are looked for. */
void name_search_know(const struct tree *tree);

#endif
