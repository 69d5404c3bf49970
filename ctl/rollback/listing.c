/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/rollback/alone.h"
#include "ctl/rollback/difference.h"
#include "ctl/rollback/find_old.h"
#include "ctl/rollback/loss_list.h"
#include "ctl/rollback/rows.h"

#define LEFT_BY_RULE                                                                               \
	"is on the old server alone, where a rule has left it (migratectl rules): it stays there " \
	"as it is"

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

static struct node *take_unseen(struct tree *tree, struct node *dir, const char *name, int ret)
{
	struct node *node = tree_node_there(tree, dir, name, 0);

	g_ptr_array_set_size(node->at, 0);
	node->unseen = ret;
	tree_activate(tree, node);
	return node;
}

/* Whether something is mounted there: its handle may be the same as that of an object of this
 * tree. */
static bool is_mounted(const struct node *dir, int fd, const char *name)
{
	struct stat st;

	return !fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev != dir->st.st_dev;
}

/* An object that came, or may have come, with a directory that was made. */
static struct node *take_along(struct tree *tree, struct node *dir, int fd, const char *name)
{
	struct migrate_binding handle;
	struct journal_row row;
	int ret = is_mounted(dir, fd, name) ? -ENOENT : migrate_binding_get(fd, name, &handle);

	if (ret)
		return ret == -ENOENT ? NULL : take_unseen(tree, dir, name, ret);
	/* its row was dealt with, or it waits: that needs no node */
	if (!g_hash_table_contains(tree->nodes, &handle) &&
	    journal_has_row(tree->journal, &handle, &row) && !tree_is_unplaced(&row))
		return NULL;
	struct node *node = tree_node(tree, &handle);
	if ((node->generation && node->belongs == BELONGS_HERE) || !node->here)
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
	struct node *dir = listing->dir;
	const guint64 inode = entry->d_ino;
	struct node *node = g_hash_table_lookup(tree->inodes, &inode);

	if (dir == tree->root && !strcmp(entry->d_name, MIGRATE_PRIVATE_DIR))
		return;
	if (!node && (dir->made || listing->doubted))
		node = take_along(tree, dir, fd, entry->d_name);
	if (node && listing->doubted && !node->made && !node->carried.fileid && !node->fileid)
		tree_doubt(node);
	if (node)
		place_add(node->wanted, dir, entry->d_name);
	else if (dir->made && !dir->was_carried && !dir->fileid)
		return; /* nothing is there that it could be compared with */
	g_hash_table_insert(dir->names, g_strdup(entry->d_name), node);
}

/* Whether an unfinished run made the directory anew when it was doubted. */
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
	loss_list_note(tree);
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
	bool private; /* in .migrate/ */
	bool complete;
};

static void look_for(void *arg, int fd, const struct dirent *entry)
{
	struct search *search = arg;
	struct tree *tree = search->tree;
	const gint64 inode = (gint64)entry->d_ino;
	struct node *node = g_hash_table_lookup(search->nodes, &inode);
	struct migrate_binding handle;
	int ret;

	if (node && search->private) {
		node->left = MAX(node->left, node->at->len ? LEFT_NOT : LEFT_UNSAID);
	} else if (node) {
		struct node *dir = tree_node(tree, &search->here);

		if (tree_was_named(node, dir, entry->d_name) &&
		    place_find(node->at, dir, entry->d_name) < 0)
			tree_guess(node, dir, entry->d_name);
	}
	if (entry->d_type != DT_DIR || !strcmp(entry->d_name, MIGRATE_PRIVATE_DIR) ||
	    is_mounted(tree->root, fd, entry->d_name))
		return;
	ret = migrate_binding_get(fd, entry->d_name, &handle);
	if (!ret) {
		g_queue_push_tail(search->dirs, g_memdup2(&handle, sizeof(handle)));
	} else if (ret != -ENOENT) {
		g_autofree char *dir = tree_shown_path(tree_node(tree, &search->here));

		search->complete = false;
		node = take_unseen(tree, tree->root, entry->d_name, ret);
		node->last_path = target_path(dir, entry->d_name);
		alone_unread(tree, node, ret);
	}
}

static void search_from(struct search *search, const struct migrate_binding *top)
{
	g_queue_push_tail(search->dirs, g_memdup2(top, sizeof(*top)));
	while (!g_queue_is_empty(search->dirs) && !tree_stops(search->tree, NULL)) {
		g_autofree struct migrate_binding *handle = g_queue_pop_head(search->dirs);
		int fd = migrate_binding_open(search->tree->root_fd, handle,
					      O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);

		search->here = *handle;
		if (fd >= 0)
			fd = each_name(fd, look_for, search);
		if (fd < 0 && fd != -ESTALE && fd != -ENOENT) {
			search->complete = false;
			alone_unread(search->tree, tree_node(search->tree, handle), fd);
		}
	}
}

void listing_search(struct tree *tree, GHashTable *nodes)
{
	struct search search = {
		.tree = tree, .nodes = nodes, .dirs = g_queue_new(), .complete = true};
	struct migrate_binding private;
	GHashTableIter iter;
	gpointer value;

	search_from(&search, &tree->root->handle);
	search.private = true;
	if (!migrate_binding_get(tree->root_fd, MIGRATE_PRIVATE_DIR, &private))
		search_from(&search, &private);
	search.complete = search.complete && g_queue_is_empty(search.dirs);
	g_queue_free_full(search.dirs, g_free);
	g_hash_table_iter_init(&iter, nodes);
	while (search.complete && g_hash_table_iter_next(&iter, NULL, &value)) {
		struct node *node = value;

		if (node->at->len || node->was_carried || node->fileid || S_ISDIR(node->st.st_mode))
			continue;
		/* a link of another tree's: it has no name here that did not come since the switch
		 */
		node->made |= node->wanted->len;
		node->made_guessed |= node->wanted->len;
		if (node->belongs == BELONGS_UNKNOWN && !node->wanted->len)
			node->belongs = BELONGS_ELSEWHERE;
	}
}

/* ---- the old server's directories ------------------------------------------------------------ */

/*
 * Whether an object may go that is on the old server under a name of which nothing is known here.
 * A directory whose names clients changed was filled (I6): it had all names of the switch except
 * those that were skipped.  So an object that is as it was at the switch was removed here, if only
 * by a rename of which the journal was not told.
 */
static bool may_go(struct tree *tree, const struct node *dir, const struct node *node,
		   bool replaced)
{
	if (difference_by_others(tree, node) || (!node->was_carried && loss_list_left(tree, dir)))
		return false;
	return replaced || node->was_carried || !loss_list_skipped(tree, node);
}

static int take_unknown(struct tree *tree, struct node *dir, const struct target_name *name)
{
	struct migrate_binding handle;
	bool replaced = g_hash_table_contains(dir->names, name->name);
	bool carried = ledger_find(tree->ledger, name->fileid, &handle);

	/* a name that never came, of an object that has, or had, another one */
	if (carried && loss_list_never_came(tree, dir, name->name, &handle))
		return 0;
	struct node *node = carried ? tree_node(tree, &handle)
				    : tree_node_there(tree, dir, name->name, name->fileid);
	const struct node *here = g_hash_table_lookup(dir->names, name->name);
	int ret;

	/* what could not be looked at is not what the old server has alone */
	if ((here && here->left == LEFT_LATER && !here->there) ||
	    (carried && node->here && node->left == LEFT_LATER && !node->there))
		return 0;
	const struct node *whose = node;
	/* of an object that is here still, a link that is not: only that one goes */
	if (carried && (node->here || (node->carried.fileid != name->fileid &&
				       node->carried.staged != name->fileid))) {
		const struct ledger_entry known = node->carried;

		carried = false;
		node = tree_node_there(tree, dir, name->name, name->fileid);
		if (known.fileid == name->fileid && !node->was_carried) {
			node->carried = known;
			node->carried.names = NULL;
			node->carried.given = NULL;
			node->was_carried = true;
		}
	}
	const bool noted = !node->at->len || place_find(node->at, dir, name->name) >= 0;
	/* or somebody else's, with the number of what was staged */
	ret = carried && (!node->there || node->old.st_ino == name->fileid)
		      ? find_old_noted(tree, node, dir, name->name)
		      : -ENOENT;
	if (carried && ret == -ENOENT) {
		carried = false;
		node = tree_node_there(tree, dir, name->name, name->fileid);
	}
	if (!carried)
		ret = find_old(tree, node);
	node->strayed |= carried && !noted && tree_has_one_name(node);
	if (ret || !node->there)
		return ret == -ENOENT ? 0 : ret;
	/* over SMB no ctime tells that somebody renamed it there since the switch */
	bool doubtful = target_has_descriptors(tree->target) && !replaced && !carried;
	/* its only one, or one of what no client changed since: somebody gave it that name there */
	doubtful |= whose != node && whose->here && !whose->there && !S_ISDIR(node->old.st_mode) &&
		    (node->old.st_nlink == 1 || !whose->active);
	if (tree->window && rows_fate(tree, node->old.st_ino) & FATE_STAYS) {
		node->left = MAX(node->left, LEFT_UNSAID);
	} else if (!node->was_carried && loss_list_ruled_out(tree, dir, name->name, true)) {
		/* nothing tells of it where it is in nobody's way */
		const bool quiet = !replaced && !tree_is_gone(dir) &&
				   loss_list_ruled_out(tree, dir, name->name, false);

		node->left = MAX(node->left, quiet ? LEFT_UNSAID : LEFT_STAYS);
		node->why = LEFT_BY_RULE;
	} else if (doubtful || !may_go(tree, dir, node, replaced)) {
		node->left = MAX(node->left, LEFT_STAYS);
		node->why = replaced || tree_is_gone(dir)
				    ? "was changed on the old server since the switch"
				    : "is on the old server alone: it was made there since the "
				      "switch, or never brought over";
	}
	if (!node->active)
		tree_activate(tree, node);
	return 0;
}

struct had_name {
	const struct place *place;
	bool had;
};

static bool take_had(void *arg, const struct journal_name *name)
{
	struct had_name *had = arg;

	had->had = name->kind == JOURNAL_NAME_GONE && !strcmp(name->name, had->place->name) &&
		   migrate_binding_equal(&name->parent, &had->place->dir->handle);
	return !had->had;
}

/* Whether somebody else gave it that name: no client did, and no run of the way back, not even one
 * that was killed (note_intents()).  In a gap of the journal clients may have done so. */
static bool is_strayed(struct tree *tree, const struct node *node, const struct place *place)
{
	struct had_name had = {place, false};

	if (!place->dir->handle.type || place_find(node->wanted, place->dir, place->name) >= 0 ||
	    node->belongs != BELONGS_HERE)
		return false;
	journal_names(tree->journal, &node->handle, take_had, &had, NULL);
	return !had.had;
}

/* Whether the first plan has dealt with the name. */
static bool is_seen_to(const struct tree *tree, const struct node *dir,
		       const struct target_name *name)
{
	return dir->scope == SCOPE_PASSIVE && (!g_hash_table_contains(dir->names, name->name) ||
					       rows_fate(tree, name->fileid) & FATE_LEAVES);
}

static int compare_listing(struct tree *tree, struct node *dir)
{
	g_autofree char *path = tree_path(dir);
	GHashTableIter iter;
	gpointer value;
	int ret;

	if (!dir->names)
		dir->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	dir->compared = true;
	dir->listed = path ? target_list(tree->target, path, &ret) : NULL;
	if (!dir->listed)
		return path ? ret : 0;
	g_hash_table_iter_init(&iter, dir->listed);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct target_name *name = value;
		struct node *node = g_hash_table_lookup(tree->fileids, &name->fileid);
		gpointer here = NULL;

		const struct place place = {dir, (char *)name->name, false};
		if (tree->window && is_seen_to(tree, dir, name))
			continue;
		bool present = g_hash_table_lookup_extended(dir->names, name->name, NULL, &here);

		/* a link of something that is there, and is not to go everywhere */
		if (present && !here && node && !node->handle.type)
			continue;
		/* a name that never came, of an object that has another one */
		if (node && here != node &&
		    loss_list_never_came(tree, dir, name->name, &node->handle))
			continue;
		/* which became active when the directory was listed here already */
		if (present && !here && node && tree_is_named(tree, node, &place))
			place_add(node->wanted, dir, name->name);
		const bool known = node && place_find(node->at, dir, name->name) >= 0;
		if (node)
			ret = find_old_noted(tree, node, dir, name->name);
		if (node && !ret && !known)
			node->strayed |= is_strayed(tree, node, &place);
		if (node && ret != -ENOENT)
			continue;
		if (!present || here)
			ret = take_unknown(tree, dir, name);
		if (ret && ret != -ENOENT)
			return ret;
	}
	return 0;
}

bool listing_there(struct tree *tree, GError **error)
{
	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		if (tree_stops(tree, error))
			return false;
		if (node->there != THERE_SEEN || !S_ISDIR(node->old.st_mode) || node->listed ||
		    node->left || !(tree_is_gone(node) || node->compared))
			continue;
		int ret = compare_listing(tree, node);
		if (ret) {
			node->compared = false;
			alone_leave_names(tree, node);
			ret = tree_leave(tree, node, "cannot be read on the old server", ret);
		}
		if (ret) {
			g_autofree char *path = tree_shown_path(node);

			g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
				    "the old server's directory %s cannot be read: %s", path,
				    g_strerror(-ret));
			return false;
		}
	}
	return true;
}
