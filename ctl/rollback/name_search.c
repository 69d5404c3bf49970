/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/name_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/rollback/find_old.h"
#include "ctl/rollback/loss_list.h"

#define LINKS_DIR MIGRATE_PRIVATE_DIR "/" MIGRATE_LINKS_DIR

static bool has_no_name(const struct node *node)
{
	return node->here && !S_ISDIR(node->st.st_mode) && !node->made &&
	       (!node->wanted->len || !node->there) && !tree_keeps_a_name(node);
}

/* By inode number: what waits in .migrate/links. */
static GHashTable *nodes_without_names(const struct tree *tree)
{
	GHashTable *nodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];
		const guint64 inode = node->st.st_ino;

		if (has_no_name(node))
			g_hash_table_insert(nodes, g_memdup2(&inode, sizeof(inode)), node);
	}
	return nodes;
}

/* Their fileids there -> nodes. */
static GHashTable *fileids_of(const struct tree *tree, GHashTable *nodes)
{
	GHashTable *fileids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autofree char *path = g_build_filename(tree->config->root, LINKS_DIR, NULL);
	DIR *dir = g_hash_table_size(nodes) ? opendir(path) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const guint64 inode = entry->d_ino;
		const guint64 fileid = g_ascii_strtoull(entry->d_name, NULL, 16);
		struct node *node = g_hash_table_lookup(nodes, &inode);

		if (!node || !fileid)
			continue;
		if (!node->fileid && !node->was_carried)
			node->fileid = fileid;
		node->belongs = MIN(node->belongs, BELONGS_UNKNOWN);
		node->made &= !node->made_guessed;
		g_hash_table_insert(fileids, g_memdup2(&fileid, sizeof(fileid)), node);
	}
	if (dir)
		closedir(dir);
	return fileids;
}

void name_search_know(const struct tree *tree)
{
	g_hash_table_unref(fileids_of(tree, tree->inodes));
}

/* Whether the name is here, in whatever directory that is here. */
static bool is_here(const struct tree *tree, const struct node *dir, const char *name,
		    struct migrate_binding *handle)
{
	int fd = dir->handle.type ? tree_open_node(tree, dir, O_PATH | O_DIRECTORY) : -1;
	bool here = fd >= 0 && !migrate_binding_get(fd, name, handle);

	if (fd >= 0)
		close(fd);
	return here;
}

/* The node of a directory.  One that is not active is not moved by anybody. */
static struct node *node_of_directory(struct tree *tree, struct node *dir,
				      const struct target_name *name)
{
	struct node *node = g_hash_table_lookup(tree->fileids, &name->fileid);
	struct migrate_binding handle;

	if (node && node->there)
		return node;
	node = is_here(tree, dir, name->name, &handle) ? tree_node(tree, &handle) : NULL;
	return node && !node->active && node->here && S_ISDIR(node->st.st_mode) && node->at->len
		       ? node
		       : tree_node_there(tree, dir, name->name, name->fileid);
}

static int look_into(struct tree *tree, struct node *dir, GHashTable *fileids, GQueue *dirs)
{
	g_autofree char *path = tree_path(dir);
	int ret = 0;
	g_autoptr(GHashTable) names = path ? target_list(tree->target, path, &ret) : NULL;
	GHashTableIter iter;
	gpointer value;

	if (!names)
		return ret == -ENOENT || ret == -ENOTDIR ? 0 : ret;
	g_hash_table_iter_init(&iter, names);
	for (ret = 0; !ret && g_hash_table_iter_next(&iter, NULL, &value);) {
		const struct target_name *name = value;
		struct node *node = g_hash_table_lookup(fileids, &name->fileid);
		g_autofree char *full = target_path(path, name->name);
		struct migrate_binding handle;
		struct stat st;

		if (node)
			ret = is_here(tree, dir, name->name, &handle) ||
					      loss_list_never_came(tree, dir, name->name,
								   &node->handle)
				      ? 0
				      : find_old_noted(tree, node, dir, name->name);
		else if (!(ret = target_stat(tree->target, full, &st)) && S_ISDIR(st.st_mode))
			g_queue_push_tail(dirs, node_of_directory(tree, dir, name));
		ret = ret == -ENOENT || ret == -EXDEV ? 0 : ret;
	}
	return ret;
}

/* Whether the name belongs to another object here.  That one may be of the same object there, made
 * here when that had one name left. */
static bool is_anothers(struct tree *tree, const struct node *node, const struct place *place)
{
	struct migrate_binding handle;

	if (!place->dir || !is_here(tree, place->dir, place->name, &handle))
		return false;
	const struct node *other = tree_node(tree, &handle);
	return !other->active || (other->there && other->old.st_ino == node->old.st_ino);
}

static void leave_nameless(struct tree *tree, struct node *node)
{
	node->belongs = BELONGS_NOWHERE;
	for (guint i = node->at->len; i > 0; i--)
		if (is_anothers(tree, node, node->at->pdata[i - 1]))
			g_ptr_array_remove_index(node->at, i - 1);
	node->there = node->at->len ? node->there : THERE_NOT;
	if (node->there)
		node->flags |= JOURNAL_GONE;
}

/* Whether the names that it has there are all known. */
static bool has_all_names(const struct node *node)
{
	return node->there && node->old.st_nlink <= node->at->len;
}

int name_search_run(struct tree *tree)
{
	g_autoptr(GHashTable) nodes = nodes_without_names(tree);
	g_autoptr(GHashTable) fileids = fileids_of(tree, nodes);
	g_autoptr(GQueue) dirs = g_queue_new();
	struct node *dir = tree->serving ? NULL : tree->root, *node;
	GHashTableIter iter;
	bool missed = false;
	int ret = 0;

	for (; g_hash_table_size(fileids) && dir && !ret && !tree_stops(tree, NULL);
	     dir = g_queue_pop_head(dirs))
		if ((ret = look_into(tree, dir, fileids, dirs))) {
			missed = true;
			ret = tree_leave(tree, dir, "cannot be read on the old server", ret);
		}
	g_hash_table_iter_init(&iter, fileids);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&node)) {
		if ((tree->serving || missed) && !has_all_names(node))
			node->left = LEFT_LATER;
		if (node->left != LEFT_LATER && node->st.st_nlink == 1 && !tree_keeps_a_name(node))
			leave_nameless(tree, node);
	}
	return ret;
}
