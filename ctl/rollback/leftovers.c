/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/leftovers.h"

#include <errno.h>
#include <string.h>

#include "ctl/rollback/displace.h"
#include "ctl/rollback/find_old.h"
#include "lib/base/text.h"

static bool failed_leftover(int ret, GError **error)
{
	if (!ret || ret == -ENOENT)
		return false;
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
		    "the old server's directory " TARGET_STAGE
		    " cannot be read: %s; what an earlier run left there is needed",
		    g_strerror(-ret));
	return true;
}

/* FALSE: fn returned that for one, or it cannot be read. */
static bool for_each_leftover(struct tree *tree,
			      bool (*fn)(struct tree *tree, const struct target_name *name,
					 GError **error),
			      GError **error)
{
	int ret;
	g_autoptr(GHashTable) names = target_list(tree->target, TARGET_STAGE, &ret);
	GHashTableIter iter;
	gpointer value;

	if (!names)
		return !failed_leftover(ret, error);
	g_hash_table_iter_init(&iter, names);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		if (!fn(tree, value, error))
			return false;
	return true;
}

/* ---- put aside ------------------------------------------------------------------------------- */

static bool find_leftover(struct tree *tree, const struct target_name *name, GError **error)
{
	struct migrate_binding handle;

	if (name->name[0] != STAGE_PARKED || !tree_stage_parse(name->name, &handle))
		return true;
	struct node *node = g_hash_table_lookup(tree->fileids, &name->fileid);
	if (!node) {
		node = handle.type ? tree_node(tree, &handle)
				   : tree_node_there(tree, NULL, name->name, name->fileid);
		int ret = find_old(tree, node);
		if (ret || !node->there)
			return !failed_leftover(ret, error);
		if (!node->active)
			tree_activate(tree, node);
	}
	/* it may have been found by another name */
	return !node->there || node->old.st_ino != name->fileid ||
	       !migrate_binding_equal(&handle, &node->handle) ||
	       !failed_leftover(find_old_noted(tree, node, NULL, name->name), error);
}

bool leftovers_find(struct tree *tree, GError **error)
{
	return for_each_leftover(tree, find_leftover, error);
}

/* ---- begun ----------------------------------------------------------------------------------- */

/* Fileids are given again, so that of an object that goes is forgotten.  An object that is at its
 * place, too, keeps it. */
static bool forget_leftover(struct tree *tree, const char *name, const struct stat *st,
			    GError **error)
{
	struct migrate_binding handle;

	if ((!S_ISDIR(st->st_mode) && st->st_nlink > 1) || !tree_stage_parse(name, &handle))
		return true;
	struct node *node = tree_node(tree, &handle);
	if (node->carried.staged != st->st_ino)
		return true;
	node->carried.staged = 0;
	return ledger_put(tree->ledger, &node->handle, &node->carried, error) &&
	       ledger_commit(tree->ledger, error);
}

static bool clean_leftover(struct tree *tree, const struct target_name *entry, GError **error)
{
	const char *name = entry->name;
	g_autofree char *path = target_path(TARGET_STAGE, name);
	struct migrate_binding handle;
	struct stat st;
	int ret = target_stat(tree->target, path, &st);

	if (ret || !tree_stage_parse(name, &handle)) /* it is somebody else's */
		return !failed_leftover(ret, error);
	if (displace_clean(tree, name, &st, error))
		return !*error;
	if (*name != STAGE_NEW && *name != STAGE_BEGUN)
		return true;
	/* under this name it is known even when no note tells of it any more */
	const struct node named = {.handle = handle};
	g_autofree char *begun = tree_stage_name(&named, STAGE_BEGUN);
	g_autofree char *to = target_path(TARGET_STAGE, begun);
	const bool renamed = *name == STAGE_NEW &&
			     !target_rename_new(tree->target, path, to, S_ISDIR(st.st_mode));
	if (!forget_leftover(tree, name, &st, error))
		return false;
	target_remove(tree->target, renamed ? to : path, S_ISDIR(st.st_mode));
	return true;
}

bool leftovers_clean(struct tree *tree, GError **error)
{
	return for_each_leftover(tree, clean_leftover, error);
}

/* ---- at the end ------------------------------------------------------------------------------ */

static bool tell_leftover(struct tree *tree, const struct target_name *name, GError **error)
{
	/* a new node: the object's own may have a line already */
	struct node *left = tree_node_there(tree, NULL, name->name, name->fileid);
	struct migrate_binding handle;

	if (!tree_stage_parse(name->name, &handle)) {
		tree_conflict(tree, left, "is nothing of the way back's: move it elsewhere");
		return true;
	}
	const struct node *node = tree_node(tree, &handle);
	const char *told = tree_told(tree, node);
	if (told && strstr(told, TARGET_IN_USE)) /* its line says enough */
		return true;
	g_autofree char *path = tree_shown_path(node);
	g_autofree char *shown = text_line(path);
	g_autofree char *text =
		g_strdup_printf("is what is left of %s, which could not come to its place, or go: "
				"the next run tries "
				"again; if it stays, move it to its place there, or remove it",
				shown);
	tree_conflict(tree, left, text);
	return true;
}

bool leftovers_tell(struct tree *tree, GError **error)
{
	return for_each_leftover(tree, tell_leftover, error);
}
