/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes objects anew in TARGET_STAGE (steps_make()), several at a time if several threads may write
 * to the old server's tree.  The one thread that carries gives objects their names, and may do so
 * for others meanwhile: the threads here read nothing of a node that it changes.
 */
#ifndef CTL_ROLLBACK_PARALLEL_H
#define CTL_ROLLBACK_PARALLEL_H

#include "ctl/rollback/steps.h"

struct parallel;

/* Begins to make `count` nodes, which stay the caller's.  parallel_end() frees the result. */
struct parallel *parallel_begin(struct carry *carry, gpointer *nodes, guint count);
/* Waits, and takes over what became of each node (steps_made()); those that were made are added to
 * `made`. */
void parallel_end(struct parallel *several, GPtrArray *made);

struct syncing;

/* target_sync() and tree_sync(): from syncing_begin() on in a thread, if several threads may work
 * there; else in syncing_end().  0 or -errno. */
struct syncing *syncing_begin(const struct tree *tree);
int syncing_end(struct syncing *syncing);

#endif
