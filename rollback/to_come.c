/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "to_come.h"

#include <dirent.h>
#include <errno.h>

#include "look.h"
#include "migrate.h"

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
		if (!node->fileid)
			node->fileid = fileid;
		g_hash_table_insert(fileids, g_memdup2(&fileid, sizeof(fileid)), node);
	}
	if (dir)
		closedir(dir);
	return fileids;
}

static int look_into(struct tree *tree, struct node *dir, GHashTable *fileids, GQueue *dirs)
{
	g_autofree char *path = tree_path(dir);
	int ret = 0;
	g_autoptr(GHashTable) names = path ? old_list(tree->old, path, &ret) : NULL;
	GHashTableIter iter;
	gpointer value;

	if (!names)
		return ret == -ENOENT || ret == -ENOTDIR ? 0 : ret;
	g_hash_table_iter_init(&iter, names);
	for (ret = 0; !ret && g_hash_table_iter_next(&iter, NULL, &value);) {
		const struct old_name *name = value;
		struct node *node = g_hash_table_lookup(fileids, &name->fileid);
		g_autofree char *full = old_path(path, name->name);
		struct stat st;

		if (node)
			ret = tree_found(tree, node, dir, name->name);
		else if (!(ret = old_stat(tree->old, full, &st)) && S_ISDIR(st.st_mode)) {
			node = g_hash_table_lookup(tree->fileids, &name->fileid);
			/* nobody moves one that is not active */
			g_queue_push_tail(dirs, node && node->there
							? node
							: tree_node_there(tree, dir, name->name,
									  name->fileid));
		}
		ret = ret == -ENOENT || ret == -EXDEV ? 0 : ret;
	}
	return ret;
}

int to_come_find(struct tree *tree)
{
	g_autoptr(GHashTable) nodes = nodes_without_names(tree);
	g_autoptr(GHashTable) fileids = fileids_of(tree, nodes);
	g_autoptr(GQueue) dirs = g_queue_new();
	struct node *dir = tree->root;
	int ret = 0;

	for (; g_hash_table_size(fileids) && dir && !ret; dir = g_queue_pop_head(dirs))
		ret = look_into(tree, dir, fileids, dirs);
	return ret;
}
