/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes entries of a manifest from a tree. */
#ifndef CTL_REPORT_TREE_H
#define CTL_REPORT_TREE_H

#include "lib/report/manifest/entry.h"
#include "lib/report/manifest/sorter.h"

/* Takes the path of what cannot be read, and why. */
typedef void (*tree_fn)(void *arg, const char *path, const char *why);

/*
 * Gives sorter an entry for each name of the tree, in no order: if hash, with the hash of each
 * file's content; and unfinished if the object has a record of a migration.  The migration's own
 * .migrate/ is left out; neither a mount nor a symbolic link is followed.  Blocks.  FALSE with
 * error set.
 */
gboolean tree_read(int root_fd, bool hash, struct proof_sorter *sorter, tree_fn fn, void *arg,
		   GError **error);

/*
 * Gives an entry the hash of its file's content, if the file below the root is, by its size and
 * time, the one that the entry is of, and is whole.  Whether it did.
 */
bool tree_hash(int root_fd, struct proof_entry *entry);

#endif
