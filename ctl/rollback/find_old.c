/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/find_old.h"

#include <errno.h>

#include "ctl/rollback/difference.h"
#include "ctl/rollback/loss_list.h"

/* Lets the node be found on the old server by its fileid, unless that is another node's by now. */
static void tree_expect(struct tree *tree, uint64_t fileid, struct node *node)
{
	guint64 key = fileid;
	const struct node *known = g_hash_table_lookup(tree->fileids, &key);

	if (node->there || !known || !known->there)
		g_hash_table_insert(tree->fileids, g_memdup2(&key, sizeof(key)), node);
}

static uint64_t known_fileid(const struct node *node)
{
	return node->was_carried ? node->carried.fileid : node->fileid;
}

/* Whether the object with this fileid is what another object here became: fileids are given again,
 * also those of objects that somebody removed there.  An object with several names there may be
 * several objects here.  st: NULL if it was not looked at. */
static bool is_carried_for_another(const struct tree *tree, const struct node *node,
				   uint64_t fileid, const struct stat *st)
{
	struct ledger_entry other;
	struct migrate_binding handle;
	const bool one = st && (S_ISDIR(st->st_mode) || st->st_nlink == 1);
	bool is = (one || tree_is_gone(node)) && ledger_find(tree->ledger, fileid, &handle) &&
		  handle.type && !migrate_binding_equal(&handle, &node->handle) &&
		  ledger_get(tree->ledger, &handle, &other);

	if (!is)
		return false;
	is = other.fileid == fileid || (st ? ledger_is_staged(&other, st) : other.staged == fileid);
	ledger_clear(&other);
	return is;
}

/* Whether an object that was found by a name alone may be another one.  An object that is neither a
 * file nor a directory has nothing beside what it was made as. */
static bool is_another(const struct tree *tree, const struct node *node, const char *path,
		       const struct stat *st, bool compared)
{
	const guint64 fileid = st->st_ino;
	const struct node *whose = g_hash_table_lookup(tree->fileids, &fileid);
	const mode_t type = node->st.st_mode & S_IFMT;

	if ((node->there && node->old.st_ino != fileid) ||
	    is_carried_for_another(tree, node, fileid, st))
		return true;
	if (!compared || !node->here || !tree_is_doubted(node))
		return false;
	return (whose && whose != node) || (st->st_mode & S_IFMT) != type ||
	       (type != S_IFREG && type != S_IFDIR && !difference_is_none(tree, node, path, st));
}

/* Whether this fileid is the known one of the node's counterpart.  An object that the old server
 * has alone may have the fileid that was noted for an object here. */
static bool is_known_counterpart(const struct tree *tree, const struct node *node, uint64_t fileid,
				 const struct stat *st)
{
	return fileid == known_fileid(node) &&
	       !(node->handle.type && is_carried_for_another(tree, node, fileid, st));
}

/* Looks whether the object at the path is the node's: by its fileid, if that is known.  compared:
 * its directory is. */
static int look_at(struct tree *tree, struct node *node, const char *path, bool compared)
{
	struct ledger_entry *carried = &node->carried;
	struct stat st;
	int ret = path ? target_stat(tree->target, path, &st) : -ENOENT;

	if (ret)
		return ret == -ENOTDIR || ret == -ELOOP || ret == -EXDEV ? -ENOENT : ret;
	if (node->was_carried && ledger_is_staged(carried, &st)) {
		carried->fileid = carried->staged;
		carried->touching = true;
		carried->version = 0;
	}
	/* an object that was only staged is nowhere under another fileid */
	if (node->was_carried || node->fileid ? !is_known_counterpart(tree, node, st.st_ino, &st)
					      : is_another(tree, node, path, &st, compared))
		return -ENOENT;
	node->there = MAX(node->there, THERE_FOUND);
	node->old = st;
	tree_expect(tree, st.st_ino, node);
	return 0;
}

/* 1: below a directory that is not found yet; 0; or -errno. */
static int is_hidden(struct tree *tree, const struct place *place)
{
	struct node *dir = place->dir;

	for (unsigned depth = 0; dir && depth < DEPTH_MAX; depth++) {
		int ret = dir->active && !dir->there ? find_old(tree, dir) : 0;

		if (ret)
			return ret;
		if (dir->active && !dir->there)
			return 1;
		dir = dir == tree->root || !dir->at->len ? NULL
							 : ((struct place *)dir->at->pdata[0])->dir;
	}
	return 0;
}

/* An object whose replacement was cut off by a kill has only a name in TARGET_STAGE there, and is
 * to have its own again. */
static void want_again(struct node *node, struct place *lost)
{
	if (lost->dir && !lost->dir->compared && node->here && !node->wanted->len &&
	    !S_ISDIR(node->st.st_mode))
		place_add(node->wanted, lost->dir, lost->name);
}

static int look_in_stage(struct tree *tree, struct node *node, char kind)
{
	g_autofree char *name = tree_stage_name(node, kind);
	g_autofree char *path = target_path(TARGET_STAGE, name);
	int ret = look_at(tree, node, path, false);

	if (ret)
		return ret;
	g_ptr_array_set_size(node->at, 0);
	place_add(node->at, NULL, name);
	return 0;
}

static bool is_staged_as(struct tree *tree, const struct node *node, char kind)
{
	g_autofree char *name = tree_stage_name(node, kind);
	g_autofree char *path = target_path(TARGET_STAGE, name);
	struct stat st;

	return node->carried.staged && !target_stat(tree->target, path, &st) &&
	       st.st_ino == node->carried.staged;
}

/* Whether the staged object has not yet taken the place of the former version. */
static bool is_staged_still(struct tree *tree, const struct node *node)
{
	return is_staged_as(tree, node, STAGE_NEW) || is_staged_as(tree, node, STAGE_BEGUN);
}

/* Whether it is looked for by a name alone (in a gap of the journal), and what has that name there
 * never came: a rule has left it. */
static bool is_ruled_out(struct tree *tree, const struct node *node, const struct place *place)
{
	return node->handle.type && !node->was_carried && !node->fileid && place->dir &&
	       loss_list_ruled_out(tree, place->dir, place->name, node->flags & JOURNAL_SCANNED);
}

static int look_for(struct tree *tree, struct node *node)
{
	g_autofree char *lost_name = NULL;
	struct place lost = {0};
	int ret = 0;

	node->looked = true;
	for (guint i = 0; i < node->at->len && !ret;) {
		struct place *place = node->at->pdata[i];
		int hidden = place->dir == node ? 0 : is_hidden(tree, place);

		if (hidden) {
			ret = MIN(hidden, 0);
			node->looked = false;
			i++;
			continue;
		}
		g_autofree char *path = tree_place_path(node, place);
		ret = is_ruled_out(tree, node, place)
			      ? -ENOENT
			      : look_at(tree, node, path, place->dir && place->dir->compared);
		if (ret == -ENOENT && !node->last_path)
			node->last_path = g_strdup(path);
		node->last_dir = place->dir;
		if (ret == -ENOENT && !lost.dir) {
			lost.dir = place->dir;
			lost.name = lost_name = g_strdup(place->name);
		}
		if (!ret && S_ISDIR(node->old.st_mode)) { /* it has no other */
			g_ptr_array_remove_range(node->at, i + 1, node->at->len - i - 1);
			g_ptr_array_remove_range(node->at, 0, i);
			break;
		}
		if (ret == -ENOENT)
			g_ptr_array_remove_index(node->at, i);
		else
			i++;
		ret = ret == -ENOENT ? 0 : ret;
	}
	if (node->there || ret)
		return ret;
	ret = look_in_stage(tree, node, STAGE_PARKED);
	if (ret == -ENOENT && is_staged_still(tree, node))
		ret = look_in_stage(tree, node, STAGE_FORMER);
	if (!ret)
		want_again(node, &lost);
	if (ret == -ENOENT && known_fileid(node) &&
	    is_known_counterpart(tree, node, known_fileid(node), NULL))
		tree_expect(tree, known_fileid(node), node);
	if (ret == -ENOENT && node->carried.staged)
		tree_expect(tree, node->carried.staged, node);
	return ret == -ENOENT ? 0 : ret;
}

int find_old(struct tree *tree, struct node *node)
{
	int ret = node->looked ? 0 : look_for(tree, node);

	return ret ? tree_leave(tree, node, "it cannot be looked at on the old server", ret) : 0;
}

int find_old_noted(struct tree *tree, struct node *node, struct node *dir, const char *name)
{
	const struct place place = {dir, (char *)name, false};
	g_autofree char *path = tree_place_path(node, &place);
	bool first = !node->there;
	int ret = first ? look_at(tree, node, path, false) : 0;

	if (!ret && first)
		g_ptr_array_set_size(node->at, 0); /* it was not found there */
	if (!ret && place_find(node->at, dir, name) < 0) {
		place_add(node->at, dir, name);
		/* by which it is moved */
		if (!dir)
			g_ptr_array_insert(node->at, 0,
					   g_ptr_array_steal_index(node->at, node->at->len - 1));
	}
	return ret;
}
