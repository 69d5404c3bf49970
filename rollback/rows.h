/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the journal says that clients changed. */
#ifndef ROWS_H
#define ROWS_H

#include "tree.h"

/* Makes nodes of the objects that have rows which were not dealt with yet, and of those that a run
 * was at when it was killed: tree->active, and the root.  FALSE with error set. */
bool rows_load(struct tree *tree, GError **error);

#endif
