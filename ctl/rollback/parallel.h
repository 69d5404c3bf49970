/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making objects anew in TARGET_STAGE (steps_make()), several at a time where the old server's tree
 * can be written by several threads.  Names are given by the one thread that carries, which may do
 * so meanwhile for others: these threads take nothing of a node that it changes.
 */
#ifndef CTL_ROLLBACK_PARALLEL_H
#define CTL_ROLLBACK_PARALLEL_H

#include "ctl/rollback/steps.h"

struct parallel;

/* Begins with `count` of struct node, which stay the caller's.  parallel_end() it. */
struct parallel *parallel_begin(struct carry *carry, gpointer *nodes, guint count);
/* Waits, and takes what came of each (steps_made()); what was made is added to `made`. */
void parallel_end(struct parallel *several, GPtrArray *made);

struct syncing;

/* target_sync() and tree_sync(), meanwhile where several threads may; else at its end. */
struct syncing *syncing_begin(const struct tree *tree);
int syncing_end(struct syncing *syncing);

#endif
