/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "migrate.h"
#include "volume/report.h"

typedef void (*name_fn)(void *arg, int fd, const struct dirent *entry);

/* fd is closed.  0 or -errno. */
static int each_name(int fd, name_fn fn, void *arg)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int ret;

	if (!dir) {
		ret = -errno;
		close(fd);
		return ret;
	}
	while ((errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			fn(arg, fd, entry);
	ret = -errno;
	closedir(dir);
	return ret;
}

struct listing {
	struct tree *tree;
	struct node *dir;
	bool doubted;
};

/* What came with a directory that was made, or may have. */
static struct node *take_along(struct tree *tree, const struct node *dir, int fd, const char *name)
{
	struct migrate_binding handle;
	struct node *node =
		migrate_binding_get(fd, name, &handle) ? NULL : tree_node(tree, &handle);

	if (!node || node->generation || !node->here)
		return NULL;
	if (!dir->made) {
		tree_activate(tree, node);
		return node;
	}
	node->made = node->made_guessed = true;
	if (node->was_carried && node->carried.fileid && node->carried.ctime)
		return NULL;
	g_ptr_array_set_size(node->at, 0);
	tree_activate(tree, node);
	return node;
}

static void take_name(void *arg, int fd, const struct dirent *entry)
{
	struct listing *listing = arg;
	struct tree *tree = listing->tree;
	const guint64 inode = entry->d_ino;
	struct node *node = g_hash_table_lookup(tree->inodes, &inode);

	if (listing->dir == tree->root && !strcmp(entry->d_name, MIGRATE_PRIVATE_DIR))
		return;
	if (!node && (listing->dir->made || listing->doubted))
		node = take_along(tree, listing->dir, fd, entry->d_name);
	if (node && listing->doubted && !node->made && !node->carried.fileid && !node->fileid)
		tree_doubt(node);
	if (node)
		place_add(node->wanted, listing->dir, entry->d_name);
	g_hash_table_insert(listing->dir->names, g_strdup(entry->d_name), node);
}

/* What was doubted when a run made it anew, which did not come to its end. */
static bool is_begun(const struct node *dir)
{
	return dir->was_carried && !dir->carried.generation && (dir->flags & JOURNAL_SCANNED);
}

int listing_here(struct tree *tree, struct node *dir)
{
	struct listing listing = {tree, dir, tree_is_doubted(dir) || is_begun(dir)};
	struct migrate_stub stub;
	int fd = tree_open_node(tree, dir, O_RDONLY | O_DIRECTORY | O_NOATIME);
	int ret = fd < 0 ? fd : migrate_stub_load(fd, &stub);
	bool unfilled;

	if (fd < 0)
		return ret;
	unfilled = stub.state == MIGRATE_UNFILLED || stub.state == MIGRATE_DUMMY;
	migrate_stub_clear(&stub);
	if (ret || unfilled) {
		close(fd);
		return ret;
	}
	dir->compared = true;
	dir->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	ret = each_name(fd, take_name, &listing);
	fd = tree_open_node(tree, dir, O_PATH | O_DIRECTORY);
	if (fd >= 0) {
		fstat(fd, &dir->st); /* as it is after that */
		close(fd);
	}
	return ret;
}

/* ---- what nothing else finds ----------------------------------------------------------------- */

struct search {
	struct tree *tree;
	GHashTable *nodes;
	GQueue *dirs; /* of struct migrate_binding */
	struct migrate_binding here;
};

static void look_for(void *arg, int fd, const struct dirent *entry)
{
	struct search *search = arg;
	const gint64 inode = (gint64)entry->d_ino;
	struct node *node = g_hash_table_lookup(search->nodes, &inode);
	struct migrate_binding handle;

	if (node) {
		struct node *dir = tree_node(search->tree, &search->here);

		if (tree_was_named(node, dir, entry->d_name) &&
		    place_find(node->at, dir, entry->d_name) < 0)
			tree_guess(node, dir, entry->d_name);
	}
	if (entry->d_type == DT_DIR && strcmp(entry->d_name, MIGRATE_PRIVATE_DIR) != 0 &&
	    !migrate_binding_get(fd, entry->d_name, &handle))
		g_queue_push_tail(search->dirs, g_memdup2(&handle, sizeof(handle)));
}

void listing_search(struct tree *tree, GHashTable *nodes)
{
	struct search search = {.tree = tree, .nodes = nodes, .dirs = g_queue_new()};

	if (g_hash_table_size(nodes))
		g_queue_push_tail(search.dirs,
				  g_memdup2(&tree->root->handle, sizeof(tree->root->handle)));
	while (!g_queue_is_empty(search.dirs) && !tree_stops(tree, NULL)) {
		g_autofree struct migrate_binding *handle = g_queue_pop_head(search.dirs);
		int fd = migrate_binding_open(tree->root_fd, handle,
					      O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);

		search.here = *handle;
		if (fd >= 0)
			each_name(fd, look_for, &search);
	}
	g_queue_free_full(search.dirs, g_free);
}

/* ---- given up -------------------------------------------------------------------------------- */

typedef bool (*reported_fn)(const char *reported, const void *arg);

/* Whether the report of losses has the name of something that was given up, and is() says so of its
 * path. */
static bool is_reported(const struct tree *tree, reported_fn is, const void *arg)
{
	g_autofree char *inside =
		g_build_filename(tree->config->root, MIGRATE_PRIVATE_DIR, REPORT_FILE, NULL);
	g_autofree char *line = NULL;
	FILE *file = fopen(inside, "re");
	bool found = false;
	size_t size = 0;

	if (!file)
		file = fopen(tree->config->report, "re");
	while (file && !found && getline(&line, &size, file) > 0) {
		struct report_line parsed = {0};

		found = report_parse(g_strchomp(line), &parsed) && parsed.kind == REPORT_NAME &&
			is(parsed.path, arg);
		report_line_clear(&parsed);
	}
	if (file)
		fclose(file);
	return found;
}

static bool is_called(const char *reported, const void *arg)
{
	const char *slash = strrchr(reported, '/');

	return slash && !strcmp(slash + 1, arg);
}

/*
 * The report has the directory's path at that time, and clients may have renamed it before and
 * since.  So the last component alone counts: too much is left there, and listed, rather than
 * removed.
 */
bool listing_given_up(const struct tree *tree, const struct node *node)
{
	const struct place *place = node->at->pdata[0];

	return is_reported(tree, is_called, place->name);
}

/* arg: paths, NULL-terminated. */
static bool is_or_is_above(const char *reported, const void *arg)
{
	const size_t len = strlen(reported);

	for (const char *const *path = arg; *path; path++)
		if (!strncmp(*path, reported, len) && (!(*path)[len] || (*path)[len] == '/'))
			return true;
	return false;
}

bool listing_left(const struct tree *tree, const struct node *dir)
{
	g_autofree char *now = tree_shown_path(dir), *then = tree_path(dir);
	g_autofree char *here = g_build_filename(tree->config->root, now, NULL);
	g_autofree char *there = then ? g_build_filename(tree->config->root, then, NULL) : NULL;

	return is_reported(tree, is_or_is_above, (const char *const[]){here, there, NULL});
}
