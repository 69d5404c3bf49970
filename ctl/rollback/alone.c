/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/alone.h"

void alone_unread(struct tree *tree, struct node *dir, int ret)
{
	tree->unread = true;
	dir->unseen = ret;
	dir->left = LEFT_LATER;
	dir->compared = false;
	g_clear_pointer(&dir->names, g_hash_table_unref);
	if (!dir->active)
		tree_activate(tree, dir);
	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		for (guint j = node->wanted->len; j > 0; j--)
			if (((struct place *)node->wanted->pdata[j - 1])->dir == dir)
				g_ptr_array_remove_index(node->wanted, j - 1);
	}
}

/* A directory could not be read: it may have names there. */
static bool may_be_unread(const struct tree *tree, const struct node *node)
{
	const guint names = S_ISDIR(node->st.st_mode) ? 1 : (guint)node->st.st_nlink;
	guint known = node->wanted->len;

	for (guint i = 0; i < node->at->len; i++) {
		const struct place *place = node->at->pdata[i];

		if (place->dir && place->dir->left == LEFT_LATER &&
		    (node->flags & JOURNAL_SCANNED || !tree_is_named(tree, node, place)))
			return true;
		known += !tree_drops(node, place);
	}
	return known < names || (node->flags & JOURNAL_GONE && !node->wanted->len);
}

void alone_tell(struct tree *tree, struct node *node)
{
	g_autofree char *text =
		g_strdup_printf("cannot be read here, so that what is in it is not carried: %s",
				g_strerror(-node->unseen));

	tree_conflict(tree, node, text);
}

void alone_leave_unknown(struct tree *tree)
{
	for (guint i = 0; i < tree->active->len && tree->unread; i++) {
		struct node *node = tree->active->pdata[i];

		if (node->here && node != tree->root && may_be_unread(tree, node))
			node->left = LEFT_LATER;
	}
}

void alone_leave_names(const struct tree *tree, const struct node *dir)
{
	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		for (guint j = 0; j < node->wanted->len; j++) {
			const struct place *place = node->wanted->pdata[j];

			if (place->dir == dir && place_find(node->at, dir, place->name) < 0)
				node->left = LEFT_LATER;
		}
	}
}

bool alone_is_below_left(const struct node *node)
{
	const struct node *dir = node;

	for (unsigned depth = 0; !node->there && depth < DEPTH_MAX; depth++) {
		const struct node *above = tree_directory(dir);

		if (!above || above == dir)
			return false;
		if (above->left == LEFT_LATER && above->active && !above->there)
			return true;
		dir = above;
	}
	return false;
}
