/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "ctl/rollback/alone.h"
#include "ctl/rollback/difference.h"
#include "ctl/rollback/find_old.h"
#include "ctl/rollback/in_flight.h"
#include "ctl/rollback/leftovers.h"
#include "ctl/rollback/listing.h"
#include "ctl/rollback/loss_list.h"
#include "ctl/rollback/obstacles.h"
#include "ctl/rollback/rows.h"
#include "ctl/rollback/name_search.h"

#define SEARCH_SHARE 20 /* a twentieth */

/* ---- what is known of both ------------------------------------------------------------------- */

/* Lists the directories among the active nodes here, which become more meanwhile. */
static bool list_here(struct tree *tree, GError **error)
{
	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		if (tree_stops(tree, error))
			return false;
		if (node->unseen)
			alone_unread(tree, node, node->unseen);
		if (node->here && tree_is_doubted(node))
			tree_doubt(node);
		if (!node->here || !S_ISDIR(node->st.st_mode) ||
		    !(node->made || (node->flags & JOURNAL_ENTRIES)))
			continue;
		int ret = listing_here(tree, node);
		if (ret && ret != -ESTALE)
			alone_unread(tree, node, ret);
	}
	return true;
}

/* Takes the present names of an object that was not moved for those that it had at the switch. */
static void take_names_at_switch(struct node *node)
{
	for (guint i = 0; i < node->wanted->len; i++) {
		const struct place *place = node->wanted->pdata[i];

		if (tree_was_named(node, place->dir, place->name) &&
		    place_find(node->at, place->dir, place->name) < 0)
			tree_guess(node, place->dir, place->name);
	}
}

/* Whether the object may have names that are not known: no known one stays; or it has more of them.
 * It may have had these at the switch, if the known ones came in a gap or since, or a killed run
 * has removed them there. */
static bool may_have_others(const struct node *node)
{
	return (!node->wanted->len && !tree_keeps_a_name(node)) ||
	       (node->st.st_nlink > node->wanted->len &&
		(node->was_carried
			 ? node->carried.touching
			 : node->fileid || node->belongs || (node->flags & JOURNAL_SCANNED) ||
				   tree_is_doubted(node)));
}

/* A search reads every directory.  While clients go on here, the nodes in `lost` are left for later
 * often enough that searches take no more than their share of the time. */
static void search_lost(struct tree *tree, GHashTable *lost)
{
	static gint64 again; /* by the monotonic clock */
	const gint64 begun = g_get_monotonic_time();
	GHashTableIter iter;
	gpointer node;

	if (!tree->serving || begun >= again) {
		listing_search(tree, lost);
		again = g_get_monotonic_time() + (g_get_monotonic_time() - begun) * SEARCH_SHARE;
		return;
	}
	g_hash_table_iter_init(&iter, lost);
	while (g_hash_table_iter_next(&iter, NULL, &node))
		((struct node *)node)->left = LEFT_LATER;
}

/* Finds names of objects whose known names all go, or may be another object's: they have others in
 * directories that were not changed. */
static void find_names(struct tree *tree)
{
	g_autoptr(GHashTable) lost =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];
		guint64 inode = node->st.st_ino;

		if (!node->here || (node->made && !node->was_carried))
			continue;
		if (!node->was_carried)
			take_names_at_switch(node);
		if (!node->at->len || (!S_ISDIR(node->st.st_mode) && may_have_others(node)))
			g_hash_table_insert(lost, g_memdup2(&inode, sizeof(inode)), node);
	}
	if (g_hash_table_size(lost))
		search_lost(tree, lost);
}

/* Nodes whose fileid is known come first: an object that is found by a name alone may be one of
 * them. */
static gint by_directory(gconstpointer a, gconstpointer b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
	const bool known = x->was_carried || x->fileid;

	if (known != (y->was_carried || y->fileid))
		return known ? -1 : 1;
	return tree_directory(x) < tree_directory(y) ? -1 : tree_directory(x) > tree_directory(y);
}

/* *found: whether anything was. */
static bool look_at_nodes(struct tree *tree, bool *found, GError **error)
{
	g_autoptr(GPtrArray) nodes = g_ptr_array_copy(tree->active, NULL, NULL);

	g_ptr_array_sort(nodes, by_directory); /* target_mount.c keeps some open */
	for (guint i = 0; i < nodes->len; i++) {
		struct node *node = nodes->pdata[i];
		int ret = node->there ? 0 : find_old(tree, node);

		if (tree_stops(tree, error))
			return false;
		*found |= node->there == THERE_FOUND;
		if (node->there)
			node->there = THERE_SEEN;
		if (!ret)
			continue;
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "the old server: %s; is it still mounted?", g_strerror(-ret));
		return false;
	}
	return true;
}

/* ---- what is to be done ---------------------------------------------------------------------- */

static void decide_names(struct tree *tree, struct node *node)
{
	guint kept = 0, drops = 0, adds = 0;

	for (guint i = 0; i < node->at->len; i++)
		*(tree_drops(node, node->at->pdata[i]) ? &drops : &kept) += 1;
	for (guint i = 0; i < node->wanted->len; i++) {
		const struct place *place = node->wanted->pdata[i];

		adds += place_find(node->at, place->dir, place->name) < 0;
	}
	/* it was moved after the rows were read */
	if (drops && !kept && !adds && node->old.st_nlink <= 1)
		node->left = LEFT_LATER;
	else if (drops || adds)
		node->todo |= TODO_NAMES;
}

/* Whether the way back gives the old server's file another mtime than its stub knows: to the
 * retriever it would be another version then. */
static bool outdates_stub(const struct tree *tree, const struct node *node)
{
	struct migrate_stub stub;
	const bool outdates = tree_load_stub(tree, node, &stub) &&
			      migrate_ns(stub.show_times ? stub.mtime : node->st.st_mtim) !=
				      migrate_ns(node->old.st_mtim);

	migrate_stub_clear(&stub);
	return outdates;
}

/* Whether the file there must not be replaced: it cannot be looked at, or may have something that
 * is not here. */
static bool holds_more(const struct tree *tree, const struct node *node)
{
	g_autofree char *path = tree_path(node);
	int fd = tree_open_node(tree, node, O_PATH);
	struct attrs attrs = {0};
	struct attrs_base base;
	bool more = fd < 0 || attrs_read(fd, &attrs) || !path;

	tree_base(tree, node, false, &base);
	attrs.base = &base;
	if (!more && base.old)
		more = !(base.told & TOLD_KNOWN) || attrs.left.what;
	more = more || target_holds_more(tree->target, path, &attrs);
	attrs_clear(&attrs);
	if (fd >= 0)
		close(fd);
	return more;
}

/* What somebody else has done to it stays. */
static void conflict_with_theirs(struct tree *tree, struct node *node, const char *text)
{
	tree_conflict(tree, node, text);
	node->theirs = true;
}

static void decide_content(struct tree *tree, struct node *node)
{
	unsigned todo = 0;

	if (S_ISREG(node->st.st_mode) && (node->made || (node->flags & JOURNAL_DATA)))
		todo |= TODO_DATA;
	if (node->made || (node->flags & (JOURNAL_META | JOURNAL_DATA)))
		todo |= TODO_META;
	if (todo && node->flags & JOURNAL_SCANNED)
		todo = difference_of(tree, node, todo);
	if (todo && node->there && node->old.st_nlink > node->st.st_nlink &&
	    loss_list_parted(tree, node->old.st_ino)) {
		tree_conflict(tree, node,
			      "is one of several files here that are names of one file on the old "
			      "server: what becomes of the others there is yours to say");
		return;
	}
	if (todo && difference_by_others(tree, node)) {
		conflict_with_theirs(tree, node, "was changed on the old server since the switch");
		return;
	}
	node->todo |= todo;
	/* the retriever finds files again by their paths, and knows them by their ctimes */
	if (todo & TODO_DATA && holds_more(tree, node))
		node->data = DATA_IN_PLACE;
	else if (S_ISREG(node->st.st_mode) &&
		 ((todo & TODO_DATA) || (tree->serving && ((node->todo & TODO_NAMES) || todo)) ||
		  ((todo & TODO_META) && outdates_stub(tree, node))))
		node->data = DATA_FETCHED;
}

/* Forgets names in directories that are not there, and those that are not found in directories that
 * were found later. */
static void forget_hidden(const struct tree *tree, struct node *node)
{
	for (guint i = node->at->len; i > 0; i--) {
		g_autofree char *path = tree_place_path(node, node->at->pdata[i - 1]);
		struct stat st;
		int ret = !path		 ? -ENOENT
			  : node->looked ? -EAGAIN
					 : target_stat(tree->target, path, &st);

		if (ret == -ENOENT || (!ret && st.st_ino != node->old.st_ino))
			g_ptr_array_remove_index(node->at, i - 1);
	}
}

/* An object to which the old server cannot give its new name stays as it is there, if it is
 * there. */
static void decide_words(struct tree *tree, struct node *node)
{
	g_autofree char *path = tree_shown_path(node);
	const char *why;

	if (!node->wanted->len || !(node->todo & (TODO_MAKE | TODO_NAMES)))
		return;
	if (target_is_stage(tree->target, path)) {
		node->left = LEFT_LATER;
		node->todo = 0;
		if (!strchr(path, '/'))
			tree_conflict(tree, node,
				      "has the name that the way back needs for itself on the old "
				      "server: rename it here");
		return;
	}
	why = target_objection(tree->target, path, node->there ? S_IFREG : node->st.st_mode);
	if (!why)
		return;
	tree_loss(tree, node, why);
	node->left = node->there ? LEFT_NOT : LEFT_UNSAID;
	if (!node->there)
		tree_unsettle(node);
	node->todo &= node->there ? ~(unsigned)TODO_NAMES : 0;
}

/* Whether the objects that have the node's places here wait for a window, and will replace it
 * there. */
static bool gives_place(const struct tree *tree, const struct node *node)
{
	bool gives = tree->deferred.waiting && !tree->window && !S_ISDIR(node->old.st_mode) &&
		     node->at->len;

	for (guint i = 0; i < node->at->len && gives; i++) {
		const struct place *place = node->at->pdata[i];
		gpointer here = NULL;

		gives = place->dir && place->dir->names &&
			g_hash_table_lookup_extended(place->dir->names, place->name, NULL, &here) &&
			!here;
	}
	return gives;
}

static void give_place(struct tree *tree, struct node *node)
{
	if (node->handle.type)
		rows_add_fate(tree, node->old.st_ino, FATE_GIVES);
	node->left = LEFT_UNSAID;
}

static void decide_node(struct tree *tree, struct node *node)
{
	if (alone_is_below_left(node)) {
		node->left = LEFT_LATER;
		return;
	}
	if (node->there || node->wanted->len)
		forget_hidden(tree, node);
	node->version = difference_version(node);
	if (node->there && difference_is_renamed(tree, node)) {
		conflict_with_theirs(tree, node,
				     "was given another name on the old server since the switch");
		return;
	}
	if (tree_is_gone(node)) {
		if (node->left == LEFT_UNSAID && node->why && !node->handle.type)
			return; /* a rule has left it there */
		if (node->there && !S_ISDIR(node->old.st_mode) && difference_by_others(tree, node))
			conflict_with_theirs(
				tree, node,
				"was removed here, and changed on the old server since the "
				"switch");
		else if (node->there && gives_place(tree, node))
			give_place(tree, node);
		else if (node->there && node->left != LEFT_UNSAID)
			node->todo = TODO_REMOVE;
		return;
	}
	if (node->belongs > BELONGS_UNKNOWN)
		return;
	if (!node->there && tree_is_dir(node) && node->wanted->len && !node->names) {
		tree_conflict(tree, node,
			      "is not on the old server where it was, and its names are not here");
		return;
	}
	if (!node->there) {
		/* what was renamed in a gap of the journal looks like a new one */
		if (node->made ||
		    (!tree->window && node->wanted->len && (node->flags & JOURNAL_SCANNED)))
			node->todo = !node->wanted->len	 ? 0
				     : tree_is_dir(node) ? TODO_MAKE | TODO_TIMES
							 : TODO_MAKE;
		else
			tree_conflict(tree, node,
				      "is not on the old server any more: it was moved or removed "
				      "there since the switch");
		return;
	}
	if ((node->st.st_mode & S_IFMT) != (node->old.st_mode & S_IFMT)) {
		conflict_with_theirs(tree, node,
				     "is of another type on the old server since the switch");
		return;
	}
	if (node != tree->root)
		decide_names(tree, node);
	decide_content(tree, node);
	if (S_ISDIR(node->st.st_mode) && !node->conflict &&
	    (node->todo || !(node->flags & JOURNAL_SCANNED)))
		node->todo |= TODO_TIMES;
}

/* Why something is to be done. */
static const char *reason_of(const struct node *node)
{
	if (node->why)
		return node->why;
	if (node->todo & TODO_MAKE)
		return node->made ? "was made here" : "is not on the old server by that name";
	if (node->todo & TODO_REMOVE)
		return node->handle.type ? "was removed here"
					 : "is on the old server alone, where it was at the switch";
	return node->todo & (TODO_DATA | TODO_META) ? "was changed here"
						    : "has other names here than at the switch";
}

static void count_node(struct tree *tree, const struct node *node, struct plan *plan)
{
	const bool works = node->todo & ~(unsigned)(TODO_TIMES | TODO_PARK);
	const bool found =
		node->generation != node->carried.generation && (node->flags & JOURNAL_SCANNED);
	struct migrate_stub stub;

	if (works)
		tree_plan(tree, node, reason_of(node));
	plan->found += found;
	plan->same += found && !works && !node->conflict && node->left < LEFT_STAYS;

	if ((node->todo || node->left == LEFT_LATER) &&
	    !g_log_writer_default_would_drop(G_LOG_LEVEL_DEBUG, NULL)) {
		g_autofree char *shown = tree_shown_path(node), *old = tree_path(node);

		g_debug("plan: %s, on the old server %s: todo %x, flags %x, inode %lu there%s",
			shown, old ? old : "nowhere", node->todo, node->flags,
			(unsigned long)node->old.st_ino, node->left == LEFT_LATER ? ", later" : "");
	}
	plan->made += !!(node->todo & TODO_MAKE);
	plan->changed += (node->todo & (TODO_DATA | TODO_META)) && !(node->todo & TODO_MAKE);
	plan->renamed += !!(node->todo & TODO_NAMES);
	plan->removed += !!(node->todo & TODO_REMOVE);
	if (!S_ISREG(node->st.st_mode) || (!node->data && !(node->todo & TODO_MAKE)))
		return;
	if (node->todo & (TODO_MAKE | TODO_DATA))
		plan->bytes += (uint64_t)node->st.st_size;
	if (tree_load_stub(tree, node, &stub))
		plan->fetched += stub.missing_bytes;
	migrate_stub_clear(&stub);
}

static uint64_t works_of(const struct plan *plan)
{
	return plan->made + plan->changed + plan->renamed + plan->removed;
}

bool plan_make(struct tree *tree, struct plan *plan, GError **error)
{
	const int64_t begun = g_get_monotonic_time();
	struct journal_state state;
	bool found = false;

	if (!tree->window)
		*plan = (struct plan){0};
	const uint64_t before = works_of(plan);
	if (!journal_state(tree->journal, &state, error) || !rows_load(tree, error))
		return false;
	if (!tree->window) {
		if (!list_here(tree, error))
			return false;
		find_names(tree);
		alone_leave_unknown(tree);
		name_search_know(tree);
	}
	if (!look_at_nodes(tree, &found, error) || (!tree->window && !leftovers_find(tree, error)))
		return false;
	/* after a kill a directory may be found in another one alone */
	for (found = true; found;) {
		found = false;
		if (!listing_there(tree, error) || !look_at_nodes(tree, &found, error))
			return false;
	}
	int ret = tree->window ? 0 : name_search_run(tree);
	if (tree_stops(tree, error))
		return false;
	if (ret) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "the old server's tree cannot be read: %s", g_strerror(-ret));
		return false;
	}
	if (!in_flight_leave(tree, state.generation, error))
		return false;
	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		if (tree_stops(tree, error))
			return false;
		if (node->left > LEFT_UNSAID ||
		    (node->scope == SCOPE_PASSIVE && !tree_is_gone(node)))
			continue;
		decide_node(tree, node);
		decide_words(tree, node);
	}
	rows_spare(tree);
	obstacles_clear(tree);
	if (!difference_root_is_as_left(tree))
		tree->root_ctime = -1;
	for (guint i = 0; i < tree->active->len; i++)
		count_node(tree, tree->active->pdata[i], plan);
	/* To look at an object takes one round trip, to carry it some ten. */
	const uint64_t works = works_of(plan) - before;
	plan->carrying += (uint64_t)(g_get_monotonic_time() - begun) * 10 * works /
			  MAX(tree->active->len, works);
	plan->seconds = (unsigned)(plan->carrying / G_USEC_PER_SEC +
				   (plan->bytes + plan->fetched) / (64 << 20) + 1);
	return true;
}
