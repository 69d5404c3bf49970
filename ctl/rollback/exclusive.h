/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories on an old SMB server that another client has open and lets nobody write to.  Names
 * that come and go in them cannot be made durable there, and do not count as carried. */
#ifndef CTL_ROLLBACK_EXCLUSIVE_H
#define CTL_ROLLBACK_EXCLUSIVE_H

#include "ctl/rollback/tree.h"

/* The first directory of target_unsynced() that the node is in, or was removed from; NULL: none. */
struct node *exclusive_directory(const struct tree *tree, const struct node *node);
/* An earlier run may have ended before the directories of objects that it had begun were synced:
 * the next sync makes them durable as well. */
void exclusive_sync_begun(const struct tree *tree);

#endif
