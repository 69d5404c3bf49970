/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Carries out on the old server what was planned (plan.h).  What may be killed where, and why that
 * is safe:
 *
 * First each object that moves, or is in the way of one, is renamed into TARGET_STAGE, under the
 * name of its handle; then each goes to its place, directories from the top down.  So chains, swaps
 * and circles of renames need no order.  New objects and new versions of files are made in
 * TARGET_STAGE with all that they have, and are renamed into their places when they are durable:
 * the old version stays until then.  This goes in batches: while one batch is renamed into its
 * places, the next one is made durable, and the one after that is made (parallel.h).  A file is
 * noted as being in its place when the rename is durable; its former version, which the same step
 * took to TARGET_STAGE, is removed right before that (displace.h).  Only a file that has or gets
 * several names, or holds more than a copy of it would, is written in place.  Objects that are to
 * go are removed last; after that directories get their times.
 *
 * Before each of these steps ledger.h has noted, durably, which inode the step is about, the names
 * that the object has and is to have, and the attributes that it is to get.  The next run finds an
 * object at the place that it left, at the one that it was going to, or in TARGET_STAGE, knows it
 * by its inode number, and goes on from there.
 *
 * Either server may lose its power, too.  What clients changed is durable on the new server before
 * any of it is carried, and what they wrote since then is durable before it is noted as carried:
 * otherwise a new server that comes up with the version before would differ from the old server for
 * ever.  What a killed run had begun may not be durable on the old server, and some directories
 * there cannot be made durable (exclusive.h): the next run syncs the directories of such objects
 * before it notes them.
 */
#ifndef CTL_ROLLBACK_CARRY_H
#define CTL_ROLLBACK_CARRY_H

#include "ctl/rollback/steps.h"

extern guint carry_batch_files; /* files that are made together, at most; tests set fewer */

/*
 * stop: when it becomes true, carry_out() ends between two objects.  Conflicts that appear while it
 * works are added to tree->conflicts, what the old server cannot take to tree->losses.  In a window
 * (rows.h) it adds to *result.  FALSE with error set: nothing further can be done; what was done
 * stays.
 */
bool carry_out(struct tree *tree, const bool *stop, struct carry_result *result, GError **error);

#endif
