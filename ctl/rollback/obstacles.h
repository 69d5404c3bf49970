/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places on the old server, for what is to be made or moved there, that something else has. */
#ifndef CTL_ROLLBACK_OBSTACLES_H
#define CTL_ROLLBACK_OBSTACLES_H

#include "ctl/rollback/tree.h"

/*
 * After it was decided what is to be done: what leaves a place is put aside first, where that is
 * needed; what cannot come to its place does not leave the one it has, and is a conflict, or for
 * the next run.
 */
void obstacles_clear(struct tree *tree);

#endif
