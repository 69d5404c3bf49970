/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files whose names, all of them, are in directories that are not filled here. */
#ifndef CTL_ROLLBACK_NAME_SEARCH_H
#define CTL_ROLLBACK_NAME_SEARCH_H

#include "ctl/rollback/tree.h"

/*
 * A file that had several names, of which clients have removed those that are here, is in
 * .migrate/links alone, and may be open.  Where there are such nodes, the old server's whole tree
 * is walked for the names that they have there, which are added to `at`.  A name that is another
 * object's here is none of theirs; what has none then is nameless.
 *
 * While clients go on here, such a node is left for a later run (LEFT_LATER) instead: the
 * retriever knows by the link count there that the name that it has still to make is of the same
 * file, and would make one of its own when the others are removed there.  0 or -errno.
 */
int name_search_run(struct tree *tree);
/* Of files that have several names on the old server, and are whole, .migrate/links tells the
 * numbers: node->fileid of active nodes, before they are looked for. */
void name_search_know(const struct tree *tree);

#endif
