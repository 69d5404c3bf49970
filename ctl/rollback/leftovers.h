/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a killed run has left in TARGET_STAGE, which may not be there at all.  FALSE with error set
 * (one line): it is not known what is in TARGET_STAGE, and nothing may be planned or made. */
#ifndef CTL_ROLLBACK_LEFTOVERS_H
#define CTL_ROLLBACK_LEFTOVERS_H

#include "ctl/rollback/tree.h"

/* Finds the objects that it had parked there. */
bool leftovers_find(struct tree *tree, GError **error);
/* Removes the objects that it had begun to make; before, the ledger notes that they are not
 * there. */
bool leftovers_clean(struct tree *tree, GError **error);
/* Call it after target_end(): adds a conflict, with what to do, for each object that is still
 * there, except those whose own line says it (TARGET_IN_USE). */
bool leftovers_tell(struct tree *tree, GError **error);

#endif
