/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/check_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"

#define SAMPLE	   200
#define LOOKS_MAX  2000
#define LOST_FOUND "lost+found"
#define TICK	   INT64_C(100000000) /* ns by which file systems' clocks may be behind, and more */

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

/* Of the names in the root: how many are there, how many are not, and what the objects of these
 * look like. */
struct count {
	unsigned hits, misses;
	GHashTable *missed; /* a set: looks_of() */
};

/* What an object looks like, whatever its name. */
static char *looks_of(const struct stat *st)
{
	return g_strdup_printf("%o %" PRId64 " %" PRId64, st->st_mode & S_IFMT,
			       S_ISDIR(st->st_mode) ? 0 : (int64_t)st->st_size,
			       migrate_ns(st->st_mtim) / 100); /* SMB's steps */
}

static void count_name(struct tree *tree, const char *name, const struct stat *here,
		       struct count *count)
{
	struct stat there;

	if (!target_stat(tree->target, name, &there) &&
	    (here->st_mode & S_IFMT) == (there.st_mode & S_IFMT)) {
		count->hits++;
		return;
	}
	count->misses++;
	g_hash_table_add(count->missed, looks_of(here));
}

/* The names that it had in the root at the switch, if clients have changed it since. */
static void count_changed(struct tree *tree, const struct migrate_binding *handle,
			  struct count *count)
{
	const struct node *node = tree_node(tree, handle);
	g_autofree char *name = tree_stage_name(node, STAGE_PARKED);
	g_autofree char *parked = target_path(TARGET_STAGE, name);
	struct stat there;

	for (guint i = 0; !node->made && i < node->at->len; i++) {
		const struct place *place = node->at->pdata[i];

		if (place->dir != tree->root)
			continue;
		/* by a run that was killed */
		if (target_was_left(tree->target) && !target_stat(tree->target, parked, &there))
			count->hits++;
		else
			count_name(tree, place->name, &node->st, count);
	}
}

/* Counts names in the root that are as at the switch, or (changed) those of objects that were
 * changed.  An object that was changed after the journal was asked may have no row yet. */
static void count_names(struct tree *tree, DIR *dir, bool changed, struct count *count)
{
	const struct dirent *entry;
	struct migrate_binding handle;
	struct journal_state state;
	struct journal_row row;
	struct stat here;

	if (!journal_state(tree->journal, &state, NULL))
		return;
	while (count->hits + count->misses < SAMPLE && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") ||
		    !strcmp(name, MIGRATE_PRIVATE_DIR) || !strcmp(name, LOST_FOUND) ||
		    migrate_binding_get(dirfd(dir), name, &handle) ||
		    fstatat(dirfd(dir), name, &here, AT_SYMLINK_NOFOLLOW))
			continue;
		if (changed)
			count_changed(tree, &handle, count);
		else if (migrate_ns(here.st_ctim) <= state.seen - TICK &&
			 !journal_has_row(tree->journal, &handle, &row))
			count_name(tree, name, &here, count);
	}
}

/* An object that looks like a missed one is that one: somebody gave it another name there, or a
 * client renamed it in a gap of the journal. */
static void find_missed(GHashTable *names, struct tree *tree, struct count *count)
{
	GHashTableIter iter;
	gpointer name;
	struct stat there;
	unsigned looks = 0;

	g_hash_table_iter_init(&iter, names);
	while (count->misses && looks++ < LOOKS_MAX && g_hash_table_iter_next(&iter, &name, NULL)) {
		g_autofree char *looks_like =
			target_stat(tree->target, name, &there) ? NULL : looks_of(&there);

		if (looks_like && g_hash_table_remove(count->missed, looks_like)) {
			count->hits++;
			count->misses--;
		}
	}
}

/* An empty tree may be a mount point on which nothing is mounted.  It is the tree if that was known
 * to be empty, or if a run of the way back was killed in it: then its fileid is the known one, and
 * what that run removed there moved its time. */
static bool is_known_empty(const struct tree *tree, const struct migrate_stub *stub)
{
	const struct ledger_entry *carried = &tree->root->carried;
	const int64_t mtime = migrate_ns(target_root_mtime(tree->target));

	if (target_was_left(tree->target) && (carried->fileid || stub->version.fileid))
		return true;
	return carried->fileid ? mtime == carried->mtime
			       : stub->version.fileid && mtime == stub->version.mtime;
}

static bool check_root_names(struct tree *tree, const struct migrate_stub *stub, DIR *dir,
			     struct count *count, GError **error)
{
	const struct ledger_entry *carried = &tree->root->carried;
	const uint64_t fileid = carried->fileid ? carried->fileid : stub->version.fileid;
	struct stat st;
	int ret = target_stat(tree->target, "", &st);

	if (!ret && fileid && fileid != st.st_ino)
		return is_other(error, "its root is another directory");
	count_names(tree, dir, false, count);
	if (!count->hits && !count->misses) {
		rewinddir(dir);
		count_names(tree, dir, true, count);
	}
	if (!ret && count->hits && count->hits >= count->misses)
		return true;
	g_autoptr(GHashTable) names = ret ? NULL : target_list(tree->target, "", &ret);
	if (!names)
		return is_other(error, "its root cannot be read");
	g_hash_table_remove(names, LOST_FOUND);
	find_missed(names, tree, count);
	if (count->misses > count->hits)
		return is_other(error, "the names in its root are others");
	return count->hits || g_hash_table_size(names) || is_known_empty(tree, stub) ||
	       is_other(error, "it is empty, and nothing tells that it was so at the switch; if it "
			       "was, make a directory in it");
}

bool check_same_tree(struct tree *tree, GError **error)
{
	struct migrate_stub stub = {0};
	int fd = tree_open_node(tree, tree->root, O_RDONLY | O_DIRECTORY | O_NOATIME);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct count count = {.missed =
				      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
	bool same;

	if (dir && (migrate_stub_load(fd, &stub) || stub.state == MIGRATE_NORMAL))
		stub.version.fileid = 0;
	same = dir ? check_root_names(tree, &stub, dir, &count, error)
		   : is_other(error, "the volume's own root cannot be read");
	migrate_stub_clear(&stub);
	g_hash_table_unref(count.missed);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return same;
}
