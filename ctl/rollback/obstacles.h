/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places on the old server at which an object is to be made, or to which it is to be moved, and
 * which another object has. */
#ifndef CTL_ROLLBACK_OBSTACLES_H
#define CTL_ROLLBACK_OBSTACLES_H

#include "ctl/rollback/tree.h"

/*
 * Call it after it was decided what is to be done.  An object that leaves such a place is parked
 * first, if that is needed.  If it stays, the object that cannot come to the place does not leave
 * the one that it has, and is a conflict, or is left for the next run.
 */
void obstacles_clear(struct tree *tree);

#endif
