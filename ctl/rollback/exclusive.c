/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/exclusive.h"

/* The first directory for which is() is true, of those that the node is in or was removed from;
 * NULL: none. */
static struct node *first_directory(const struct tree *tree, const struct node *node,
				    bool (*is)(const struct tree *tree, const char *path))
{
	const guint n = node->at->len ? node->at->len : node->last_dir != NULL;

	for (guint i = 0; i < n; i++) {
		struct node *dir =
			node->at->len ? ((struct place *)node->at->pdata[i])->dir : node->last_dir;
		g_autofree char *path = dir ? tree_path(dir) : NULL;

		if (path && is(tree, path))
			return dir;
	}
	return NULL;
}

static bool is_unsynced(const struct tree *tree, const char *path)
{
	return g_hash_table_contains(target_unsynced(tree->target), path);
}

struct node *exclusive_directory(const struct tree *tree, const struct node *node)
{
	return target_unsynced(tree->target) ? first_directory(tree, node, is_unsynced) : NULL;
}

static bool sync_names(const struct tree *tree, const char *path)
{
	target_sync_names(tree->target, path);
	return false;
}

void exclusive_sync_begun(const struct tree *tree)
{
	for (guint i = 0; i < tree->active->len; i++) {
		const struct node *node = tree->active->pdata[i];
		const struct ledger_entry *carried = &node->carried;

		if (!carried->generation && (carried->fileid || carried->staged))
			first_directory(tree, node, sync_names);
	}
}
