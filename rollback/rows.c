/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rows.h"

struct rows {
	struct carried *carried;
	GArray *handles; /* of struct migrate_binding: of what is to be dealt with */
};

static bool take_row(void *arg, const struct journal_row *row)
{
	struct rows *rows = arg;

	/* what was looked for, and is another tree's, is that until a name of it comes */
	if (!carried_is_done(rows->carried, &row->handle, row->generation) &&
	    !(tree_is_unplaced(row) && carried_is_elsewhere(rows->carried, &row->handle)))
		g_array_append_val(rows->handles, row->handle);
	return true;
}

static void take_touched(void *arg, const struct migrate_binding *handle)
{
	if (handle->type) /* not of the old server alone */
		g_array_append_val((GArray *)arg, *handle);
}

bool rows_load(struct tree *tree, GError **error)
{
	g_autoptr(GArray) handles = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	struct rows rows = {tree->carried, handles};

	carried_each_touching(tree->carried, take_touched, handles);
	if (!journal_each(tree->journal, 0, take_row, &rows, error))
		return false;
	for (guint i = 0; i < handles->len; i++) {
		struct node *node =
			tree_node(tree, &g_array_index(handles, struct migrate_binding, i));

		if (node->active && !node->loaded)
			tree_activate(tree, node);
		node->loaded = true;
	}
	/* who is killed between what he does to OLD_STAGE and the root's times leaves wrong ones */
	if (!tree->root->active)
		tree_activate(tree, tree->root);
	return true;
}
