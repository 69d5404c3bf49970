/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "same.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "migrate.h"

#define SAMPLE 200
#define TICK   INT64_C(100000000) /* ns by which file systems' clocks may be behind, and more */

static bool is_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && (path[len] == '/' || !path[len] || len == 1);
}

bool check_apart(const char *root, const char *to, GError **error)
{
	char *a = realpath(root, NULL), *b = realpath(to, NULL);
	struct stat x, y;
	bool apart = !a || !b || (!is_below(a, b) && !is_below(b, a));

	if (apart && !stat(root, &x) && !stat(to, &y))
		apart = x.st_dev != y.st_dev || x.st_ino != y.st_ino;
	if (!apart)
		g_set_error(
			error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			"%s: is not apart from the volume's root %s: give the old server's tree",
			to, root);
	free(a);
	free(b);
	return apart;
}

static bool is_other(GError **error, const char *why)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		    "what is mounted there is not the tree that this volume came from (%s): mount "
		    "the directory that `source` names",
		    why);
	return false;
}

/* The names that it had in the root at the switch, if clients have changed it since. */
static void count_changed(struct tree *tree, const struct migrate_binding *handle, unsigned *hits,
			  unsigned *misses)
{
	const struct node *node = tree_node(tree, handle);
	struct stat there;

	for (guint i = 0; !node->made && i < node->at->len; i++) {
		const struct place *place = node->at->pdata[i];

		if (place->dir != tree->root)
			continue;
		int ret = old_stat(tree->old, place->name, &there);
		*(!ret && (node->st.st_mode & S_IFMT) == (there.st_mode & S_IFMT) ? hits
										  : misses) += 1;
	}
}

/* Of names in the root that are as at the switch: those that are there, and others.  What was
 * changed since the journal was asked may have no row yet. */
static void count_names(struct tree *tree, DIR *dir, bool changed, unsigned *hits, unsigned *misses)
{
	const struct dirent *entry;
	struct migrate_binding handle;
	struct journal_state state;
	struct journal_row row;
	struct stat here, there;

	if (!journal_state(tree->journal, &state, NULL))
		return;
	while (*hits + *misses < SAMPLE && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") ||
		    !strcmp(name, MIGRATE_PRIVATE_DIR) || !strcmp(name, "lost+found") ||
		    migrate_binding_get(dirfd(dir), name, &handle) ||
		    fstatat(dirfd(dir), name, &here, AT_SYMLINK_NOFOLLOW))
			continue;
		if (changed) {
			count_changed(tree, &handle, hits, misses);
			continue;
		}
		if (migrate_ns(here.st_ctim) > state.seen - TICK ||
		    journal_has_row(tree->journal, &handle, &row))
			continue;
		int ret = old_stat(tree->old, name, &there);
		*(!ret && (here.st_mode & S_IFMT) == (there.st_mode & S_IFMT) ? hits : misses) += 1;
	}
}

/* As a mount point is on which nothing is mounted. */
static bool is_empty(struct old *old)
{
	int ret;
	g_autoptr(GHashTable) names = old_list(old, "", &ret);

	return !names || !g_hash_table_size(names);
}

bool check_same_tree(struct tree *tree, GError **error)
{
	struct migrate_stub stub;
	struct stat st;
	int fd = tree_open_node(tree, tree->root, O_RDONLY | O_DIRECTORY | O_NOATIME);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned hits = 0, misses = 0;

	if (!dir || old_stat(tree->old, "", &st)) {
		if (dir)
			closedir(dir);
		return is_other(error, "its root cannot be read");
	}
	bool known = !migrate_stub_load(fd, &stub) && stub.state != MIGRATE_NORMAL;
	uint64_t fileid = known ? stub.version.fileid : tree->root->carried.fileid;
	migrate_stub_clear(&stub);
	count_names(tree, dir, false, &hits, &misses);
	if (!hits && !misses) {
		rewinddir(dir);
		count_names(tree, dir, true, &hits, &misses);
	}
	closedir(dir);
	if (fileid && fileid != st.st_ino)
		return is_other(error, "its root is another directory");
	if (misses > hits)
		return is_other(error, "the names in its root are others");
	return fileid || hits || !is_empty(tree->old) ||
	       is_other(error, "it is empty, and nothing tells that it was so at the switch; if it "
			       "was, make a directory in it");
}
