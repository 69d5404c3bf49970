/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories that somebody has to himself on the old server (SMB), so that what comes and goes in
 * them is not durable there, and does not count as carried. */
#ifndef CTL_ROLLBACK_EXCLUSIVE_H
#define CTL_ROLLBACK_EXCLUSIVE_H

#include "ctl/rollback/tree.h"

/* The one that the node is in, or was removed from, of target_unsynced(); NULL: none. */
struct node *exclusive_directory(const struct tree *tree, const struct node *node);
/* What an earlier run had begun with may have been left, or not synced at all: it is with the next
 * sync. */
void exclusive_sync_begun(const struct tree *tree);

#endif
