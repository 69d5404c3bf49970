/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Doing what was planned.  What may be killed where, and why that is safe:
 *
 * Moves and what is in the way go to TARGET_STAGE first, under the name of the object's handle,
 * then to their places, directories from the top down; so chains, swaps and circles need no order.
 * New objects and new versions of files are made in TARGET_STAGE with all they have and are renamed
 * into their places when they are durable: the old version stays until then.  While one batch of
 * them does, the next one is made durable and the one after that is made (parallel.h); that a file
 * is in its place is noted when that is durable, and its former version, which the same step took
 * to TARGET_STAGE, goes right before (displace.h).  Only what has several names there is written in
 * place. What is to go, goes last; times of directories after that.
 *
 * Before each of these steps ledger.h has noted, durably, which inode it is about, the names that
 * it has and is to have, and the attributes that it is to get.  The next run finds an object at the
 * place that it left, at the one that it was going to, or in TARGET_STAGE, knows it by its number,
 * and goes on from there.
 *
 * Either server may lose its power, too.  What clients changed is durable here before any of it is
 * carried, and so is what they wrote since then before it is noted as carried: else a new server
 * that comes again with the version before would have another one than the old server, for ever.
 * What a run had begun with may not be durable on the old server when it is killed, or its
 * directory could not be made so (exclusive.h): the next run syncs these directories before it
 * notes them.
 */
#ifndef CTL_ROLLBACK_CARRY_H
#define CTL_ROLLBACK_CARRY_H

#include "ctl/rollback/steps.h"

extern guint carry_batch_files; /* so many are made together at most; fewer in tests */

/*
 * stop: when it becomes true, it ends between two objects.  Conflicts that show while it is done
 * are added to tree->conflicts, what the old server cannot take to tree->losses.  FALSE with error
 * set: nothing further can be done; what was done stays.  In a window (rows.h) it adds to *result.
 */
bool carry_out(struct tree *tree, const bool *stop, struct carry_result *result, GError **error);

#endif
