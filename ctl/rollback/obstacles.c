/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/obstacles.h"

#include <string.h>

#include "ctl/rollback/loss_list.h"

/* The object that stands where the node is to be, if it is another one.  *at: its name there, which
 * may be spelled in another way. */
static struct node *occupant(const struct tree *tree, const struct node *node,
			     const struct place *place, const char **at)
{
	const struct target_name *name =
		place->dir->listed ? g_hash_table_lookup(place->dir->listed, place->name) : NULL;
	struct node *there = name ? g_hash_table_lookup(tree->fileids, &name->fileid) : NULL;

	*at = name ? name->name : place->name;
	return there == node ? NULL : there;
}

/* Whether the directory cannot be on the old server yet. */
static bool waits(const struct node *dir)
{
	while (!dir->there && dir->left != LEFT_LATER && dir->wanted->len)
		dir = ((struct place *)dir->wanted->pdata[0])->dir;
	return !dir->there && dir->left == LEFT_LATER;
}

/* Whether the directory is not on the old server, and will not be made. */
static bool is_lost(const struct node *dir)
{
	while (!dir->there && (dir->todo & TODO_MAKE) && dir->wanted->len)
		dir = ((struct place *)dir->wanted->pdata[0])->dir;
	return dir->active && (dir->scope != SCOPE_PASSIVE || dir->left == LEFT_UNSAID) &&
	       !dir->there && !(dir->todo & TODO_MAKE);
}

/* Whether the node is to be where a rule has left something else on the old server. */
static bool is_for_left_out(struct tree *tree, const struct node *node, const struct place *place)
{
	const struct target_name *name =
		place->dir->listed ? g_hash_table_lookup(place->dir->listed, place->name) : NULL;

	const struct node *other = name ? g_hash_table_lookup(tree->fileids, &name->fileid) : NULL;
	/* what came, and has no other name, came under that one */
	const bool came = other && other->handle.type &&
			  (S_ISDIR(other->old.st_mode) || other->old.st_nlink == 1);

	return name && other != node && loss_list_ruled_out(tree, place->dir, name->name, !came);
}

/* FALSE: the node does not get its names, in this run or ever. */
static bool make_room_at(struct tree *tree, struct node *node, const struct place *place)
{
	const char *name;
	struct node *other = occupant(tree, node, place, &name);
	int at = other ? place_find(other->at, place->dir, name) : -1;

	if (waits(place->dir)) {
		node->left = LEFT_LATER;
	} else if (is_lost(place->dir)) {
		tree_conflict(tree, node, "its directory is not on the old server any more");
		node->todo = 0;
	} else if (is_for_left_out(tree, node, place)) {
		tree_conflict(tree, node,
			      "its name is taken on the old server by what a rule has left there");
		node->todo = 0;
	} else if (at < 0 ||
		   ((other->todo & TODO_NAMES) && tree_drops(other, other->at->pdata[at]))) {
		return true;
	} else if (other->todo & TODO_REMOVE) {
		if (tree_is_dir(node) || tree_is_dir(other) || strcmp(name, place->name))
			other->todo |= TODO_PARK;
		return true;
	} else if (other->left == LEFT_LATER || place->dir->left == LEFT_LATER) {
		node->left = LEFT_LATER;
	} else {
		tree_conflict(tree, node,
			      "its name is taken on the old server by something that stays there");
		node->todo = 0;
	}
	node->todo &= node->there ? ~(unsigned)(TODO_MAKE | TODO_NAMES) : 0;
	return false;
}

/* *changed: whether the node does not move after all. */
static void make_room(struct tree *tree, struct node *node, bool *changed)
{
	for (guint i = 0; i < node->wanted->len && (node->todo & (TODO_MAKE | TODO_NAMES)); i++)
		*changed |= !make_room_at(tree, node, node->wanted->pdata[i]);
}

void obstacles_clear(struct tree *tree)
{
	/* an object that stays after all may be in the way of another one */
	for (bool changed = true; changed;) {
		changed = false;
		for (guint i = 0; i < tree->active->len; i++)
			make_room(tree, tree->active->pdata[i], &changed);
	}
}
