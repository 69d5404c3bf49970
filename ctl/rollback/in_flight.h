/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What clients did while the plan was made.
 *
 * The plan takes the journal's rows first, and looks at what is here afterwards, so that it may see
 * two moments: a file that is not in its directory any more, and of whose renaming there is no row.
 * The kernel tells of a change before anybody can list the directory again.  So once the journal
 * has settled again it has a row of all that was seen; what such a row makes doubtful is left for
 * the next run.
 */
#ifndef CTL_ROLLBACK_IN_FLIGHT_H
#define CTL_ROLLBACK_IN_FLIGHT_H

#include "ctl/rollback/tree.h"

/* Marks what is left (LEFT_LATER), and lists what stays of the rest.  generation: of the rows that
 * were taken.  Blocks.  FALSE with error set. */
bool in_flight_leave(struct tree *tree, uint64_t generation, GError **error);

#endif
