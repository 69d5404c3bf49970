/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leaves for the next run what clients changed while the plan was made.
 *
 * The plan takes the journal's rows first, and looks at the new server's tree afterwards, so it may
 * see two moments: a file that is not in its directory any more, and no row of its renaming.  The
 * kernel tells of a change before anybody can list the directory again.  So once the journal has
 * settled again, it has a row of everything that was seen; what such a row makes doubtful is left
 * for the next run.
 */
#ifndef CTL_ROLLBACK_IN_FLIGHT_H
#define CTL_ROLLBACK_IN_FLIGHT_H

#include "ctl/rollback/tree.h"

/* Marks the nodes that are left (LEFT_LATER), and lists those of the others that stay on the old
 * server (LEFT_STAYS).  generation: of the rows that the plan took.  Blocks.  FALSE with error
 * set. */
bool in_flight_leave(struct tree *tree, uint64_t generation, GError **error);

#endif
