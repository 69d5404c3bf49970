/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run that was killed has left in TARGET_STAGE; there may be none.  FALSE with error set:
 * one line.  What is there is not known then, and nothing may be planned or made. */
#ifndef CTL_ROLLBACK_LEFTOVERS_H
#define CTL_ROLLBACK_LEFTOVERS_H

#include "ctl/rollback/tree.h"

/* Finds what it had put aside. */
bool leftovers_find(struct tree *tree, GError **error);
/* Removes what it had begun to make, and notes before that it is not there. */
bool leftovers_clean(struct tree *tree, GError **error);
/* After target_end(): a conflict for each that is there still, with what to do, but for what has a
 * line that says so (TARGET_IN_USE). */
bool leftovers_tell(struct tree *tree, GError **error);

#endif
