/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/carry.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ctl/rollback/content.h"
#include "ctl/rollback/difference.h"
#include "ctl/rollback/displace.h"
#include "ctl/rollback/find_old.h"
#include "ctl/rollback/leftovers.h"
#include "ctl/rollback/parallel.h"
#include "ctl/rollback/rows.h"
#include "ctl/rollback/steps.h"
#include "ctl/rollback/exclusive.h"

#define BATCH_BYTES (256 << 20)

guint carry_batch_files = 4096;

/* ---- notes ----------------------------------------------------------------------------------- */

static bool note(struct carry *carry, struct node *node)
{
	return ledger_put(carry->tree->ledger, &node->handle, &node->carried, carry->error);
}

static bool commit(struct carry *carry)
{
	return ledger_commit(carry->tree->ledger, carry->error);
}

/* Whether the object cannot be replaced by renaming: it has or is to have other names there, or
 * holds more than a copy of it would, or its directory is not known here. */
static bool is_kept(const struct node *node)
{
	const struct place *place = node->at->len ? node->at->pdata[0] : NULL;

	return node->there &&
	       (node->old.st_nlink > 1 || node->st.st_nlink > 1 || node->data == DATA_IN_PLACE ||
		(place && place->dir && !place->dir->handle.type));
}

static void touch(struct carry *carry, const GPtrArray *places)
{
	for (guint i = 0; i < places->len; i++) {
		struct node *dir = ((struct place *)places->pdata[i])->dir;

		if (!dir || (dir->todo & TODO_TIMES))
			continue;
		if (!dir->active && !find_old(carry->tree, dir))
			tree_activate(carry->tree, dir);
		dir->todo |= TODO_TIMES;
	}
}

/* Directories in which something is done must get their times back afterwards. */
static void touch_directories(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;

	for (guint i = 0; i < active->len; i++) {
		const struct node *node = active->pdata[i];

		if (!(node->todo & ~(unsigned)(TODO_TIMES | TODO_META)))
			continue;
		touch(carry, node->at);
		touch(carry, node->wanted);
	}
}

static void add_names(struct ledger_entry *carried, const GPtrArray *places,
		      const GPtrArray *besides)
{
	for (guint i = 0; i < places->len; i++) {
		const struct place *place = places->pdata[i];

		if (place->dir && place->dir->handle.type && *place->name &&
		    place_find(besides, place->dir, place->name) < 0)
			ledger_add_name(carried, &place->dir->handle, place->name);
	}
}

/* to_come: also the names that it is to have.  So a run that finds the object under another name
 * knows that no run of the way back gave it that name, not even a killed one. */
static void take_names(struct node *node, bool to_come)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	struct ledger_entry *carried = &node->carried;
	struct ledger_entry fresh = *carried;

	fresh.names = NULL;
	add_names(&fresh, node->at, none);
	if (to_come)
		add_names(&fresh, node->wanted, node->at);
	carried->given = NULL;
	ledger_clear(carried);
	*carried = fresh;
}

static void remember_node(const struct carry *carry, struct node *node)
{
	struct ledger_entry had;

	ledger_get(carry->tree->ledger, &node->handle, &had);
	node->was_touching = had.touching;
	node->was_theirs = node->theirs;
	node->had = g_steal_pointer(&had.given);
	node->intended = true;
	ledger_clear(&had);
}

/*
 * Notes what is about to be done to objects that are on the old server.  An object that is replaced
 * or removed as a whole can be told afterwards by its fileid, or is as it was before; of an object
 * that is changed in place nothing can be said until that is done.
 */
static bool note_intents(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;
	guint noted = 0;

	for (guint i = 0; i < active->len; i++) {
		struct node *node = active->pdata[i];
		struct ledger_entry *carried = &node->carried;
		const struct stat *old = &node->old;
		bool replaced = !S_ISDIR(old->st_mode) && !is_kept(node);

		/* an object that is given nothing, but whose ctime a step moves, so that later runs
		 * cannot see that its rights were changed; or an earlier run saw it */
		node->their_rights |= node->there && (node->todo || carried->ctime < 0) &&
				      !(node->todo & (TODO_DATA | TODO_META | TODO_REMOVE)) &&
				      difference_of_rights(carry->tree, node);
		if (node->todo)
			take_names(node, true); /* what is made is noted when it is staged */
		/* an object that somebody else has changed, and that is given nothing but times,
		 * counts as changed by him in later runs, too */
		if (!node->there ||
		    !(node->todo & ~(unsigned)(TODO_MAKE | (node->theirs ? TODO_TIMES : 0))))
			continue;
		remember_node(carry, node);
		carried->generation = 0;
		carried->fileid = old->st_ino;
		carried->staged = 0;
		carried->touching =
			!(node->todo & TODO_REMOVE) && !((node->todo & TODO_DATA) && replaced);
		/* after a kill a change that is known to be somebody else's must not count as the
		 * way back's */
		const bool theirs = node->theirs && !(node->todo & (TODO_DATA | TODO_REMOVE));
		carried->size = theirs ? UINT64_MAX : (uint64_t)old->st_size;
		carried->mtime = migrate_ns(old->st_mtim);
		carried->staged_mtime = 0;
		carried->version = node->todo & TODO_DATA && !carried->touching ? 0 : node->version;
		carried->ctime =
			theirs || node->their_rights ? -1
			: (node->todo & TODO_DATA) && !node->moved &&
					!(node->todo & (TODO_NAMES | TODO_PARK | TODO_REMOVE))
				? migrate_ns(old->st_ctim)
				: 0;
		if (carried->touching && node->here && !steps_remember(carry, node)) {
			node->left = LEFT_LATER;
			node->todo &= ~(unsigned)(TODO_DATA | TODO_META | TODO_TIMES);
		}
		/* until the commit each note keeps a page of the store in memory */
		if (!note(carry, node) || (++noted % carry_batch_files == 0 && !commit(carry)))
			return false;
	}
	return commit(carry);
}

/* Whether the object is still the one that the way back left.  If not, somebody else has changed
 * it, and the change must not be taken for the way back's. */
static bool is_as_left(const struct node *node, const struct stat *st)
{
	const struct stat *old = &node->old;

	return st->st_ino == old->st_ino &&
	       (S_ISDIR(st->st_mode) || (st->st_size == old->st_size &&
					 migrate_ns(st->st_mtim) == migrate_ns(old->st_mtim)));
}

/* Whether it has the rights that are known: rights that somebody else gave it meanwhile count as
 * his in later runs. */
static bool has_its_rights(const struct node *node, const struct stat *st)
{
	const struct stat *old = &node->old;

	return !node->their_rights && st->st_mode == old->st_mode && st->st_uid == old->st_uid &&
	       st->st_gid == old->st_gid;
}

/* Takes over what became of the object.  FALSE: that cannot be seen, and nothing is to be noted. */
static bool take_done(struct carry *carry, struct node *node)
{
	struct ledger_entry *carried = &node->carried;
	g_autofree char *path = tree_path(node);
	struct stat st = {0};

	if (node->at->len && (!path || target_stat(carry->tree->target, path, &st)))
		return false;
	if (node->there && node->at->len && !is_as_left(node, &st))
		displace_conflict(carry->tree, node, carry->error);
	if (node->there) {
		take_names(node, false);
		carried->fileid = st.st_ino;
		carried->staged = 0;
		carried->size = node->theirs ? UINT64_MAX : (uint64_t)st.st_size;
		carried->mtime = migrate_ns(st.st_mtim);
		carried->ctime =
			node->theirs || !has_its_rights(node, &st) ? -1 : migrate_ns(st.st_ctim);
	} else if (carried->touching) {
		carried->size = UINT64_MAX; /* nobody looked where it is, so nothing can be said */
	}
	carried->generation = node->conflict || node->left == LEFT_LATER || node->unsettled ||
					      rows_wait_in(carry->tree, node)
				      ? 0
				      : node->generation;
	carried->elsewhere = node->belongs == BELONGS_ELSEWHERE;
	carried->touching = false;
	node->todo &= TODO_TIMES;
	node->noted = true;
	return true;
}

/* Nothing was begun with the object: puts its notes back, so that what somebody else does to it
 * from now on shows.  Names that came or went moved a directory's ctime, and may cost it a time. */
static bool put_back(struct carry *carry, struct node *node, GError **error)
{
	struct ledger_entry *carried = &node->carried;
	g_autofree char *path = tree_path(node);
	struct stat st = node->old;

	if ((node->begun || node->moved || S_ISDIR(st.st_mode)) &&
	    (!path || target_stat(carry->tree->target, path, &st) || st.st_ino != node->old.st_ino))
		return true;
	/* a step that was refused left no trace */
	if (node->begun && (node->moved || !displace_is_known(node, &st, false) ||
			    migrate_ns(st.st_ctim) != migrate_ns(node->old.st_ctim)))
		return true;
	if (!displace_is_known(node, &st, true) && !S_ISDIR(st.st_mode))
		st = node->old; /* else another name of it went from TARGET_STAGE */
	take_names(node, node->was_touching);
	g_clear_pointer(&carried->given, g_hash_table_unref);
	carried->given = g_steal_pointer(&node->had);
	carried->touching = node->was_touching || (node->entered && node->todo & TODO_TIMES);
	carried->size = node->was_theirs ? UINT64_MAX : (uint64_t)node->old.st_size;
	carried->mtime = migrate_ns(node->old.st_mtim);
	carried->ctime =
		node->was_theirs || !has_its_rights(node, &st) ? -1 : migrate_ns(st.st_ctim);
	carried->version = node->version;
	return ledger_put(carry->tree->ledger, &node->handle, carried, error);
}

/* Called at any end except a kill. */
static void put_back_all(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;
	g_autoptr(GError) error = NULL;
	guint put = 0;

	for (guint i = 0; i < active->len && !error; i++) {
		struct node *node = active->pdata[i];

		if (node->intended && !node->noted && put_back(carry, node, &error) &&
		    ++put % carry_batch_files == 0)
			ledger_commit(carry->tree->ledger, &error);
	}
	if (put && !error)
		ledger_commit(carry->tree->ledger, &error);
	if (error && !*carry->error)
		g_propagate_error(carry->error, g_steal_pointer(&error));
}

static bool note_done(struct carry *carry, struct node *node)
{
	return !take_done(carry, node) || note(carry, node);
}

static bool note_all(struct carry *carry, const GPtrArray *nodes)
{
	for (guint i = 0; i < nodes->len; i++)
		if (!note(carry, nodes->pdata[i]))
			return false;
	return true;
}

/* ---- directories that are not durable -------------------------------------------------------- */

static void note_placed(struct carry *carry, const GPtrArray *placed)
{
	for (guint i = 0; i < placed->len && !*carry->error; i++) {
		struct node *node = placed->pdata[i];

		node->noted = displace_former(carry->tree, node, carry->error) &&
			      !exclusive_directory(carry->tree, node);
		if (!*carry->error && node->noted)
			note(carry, node);
	}
}

/* Objects in a directory that is not durable are left for the next run, which looks at that
 * directory again. */
static bool leave_unsynced(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;

	for (guint i = 0; i < active->len; i++) {
		struct node *node = active->pdata[i];
		struct node *dir = node->noted ? exclusive_directory(carry->tree, node) : NULL;

		if (!dir)
			continue;
		if (!dir->conflict)
			tree_conflict(carry->tree, dir,
				      "somebody has it open on the old server and lets nobody "
				      "write, or the server is busy: what comes or goes in it may "
				      "be lost there with its power, and is left for the next run");
		carry->result->left++;
		node->carried.generation = dir->carried.generation = 0;
		if (!note(carry, node) || (dir->noted && !note(carry, dir)))
			return false;
	}
	return true;
}

/* ---- directories and moves ------------------------------------------------------------------- */

static bool stops(const struct carry *carry)
{
	return *carry->stop || *carry->error;
}

static bool moves(const struct node *node)
{
	return (node->todo & TODO_NAMES) && node->wanted->len && !tree_keeps_a_name(node);
}

static void park_all(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;

	for (guint i = 0; i < active->len && !stops(carry); i++) {
		struct node *node = active->pdata[i];

		if ((node->todo & TODO_PARK) || moves(node))
			steps_park(carry, node);
	}
}

static bool makes_directory(const struct node *node)
{
	return (node->todo & TODO_MAKE) && S_ISDIR(node->st.st_mode);
}

static gint by_depth(gconstpointer a, gconstpointer b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return tree_directory(x) < tree_directory(y) ? -1 : tree_directory(x) > tree_directory(y);
}

/* The depth of an object that goes is that of its place there, because its directory may be
 * parked. */
static unsigned depth_of(const struct node *node)
{
	g_autofree char *there = node->todo & TODO_REMOVE ? tree_path(node) : NULL;
	g_autofree char *path = there ? g_steal_pointer(&there) : tree_shown_path(node);
	unsigned depth = 0;

	for (const char *p = path; (p = strchr(p, '/')); p++)
		depth++;
	return depth;
}

/* Active nodes of one kind, those nearest to the root first, of one directory together. */
static GPtrArray *select_nodes(const struct tree *tree, bool (*wanted)(const struct node *node))
{
	GPtrArray *selected = g_ptr_array_new();

	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		if (!wanted(node))
			continue;
		node->depth = depth_of(node);
		g_ptr_array_add(selected, node);
	}
	g_ptr_array_sort(selected, by_depth);
	return selected;
}

static bool is_directory_to_place(const struct node *node)
{
	return node->here && S_ISDIR(node->st.st_mode) && (node->todo & (TODO_MAKE | TODO_NAMES));
}

static bool is_other_to_name(const struct node *node)
{
	return node->here && !S_ISDIR(node->st.st_mode) && (node->todo & TODO_NAMES);
}

static bool stage_directories(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;

	for (guint i = 0; i < active->len && !stops(carry); i++)
		if (makes_directory(active->pdata[i]) && steps_stage(carry, active->pdata[i]) &&
		    !note(carry, active->pdata[i]))
			return false;
	return commit(carry);
}

static bool place_all(struct carry *carry, bool (*wanted)(const struct node *node))
{
	g_autoptr(GPtrArray) nodes = select_nodes(carry->tree, wanted);

	for (guint i = 0; i < nodes->len && !stops(carry); i++) {
		struct node *node = nodes->pdata[i];
		bool made = node->todo & TODO_MAKE;

		if (made && !node->carried.staged)
			continue;
		if (!steps_place(carry, node)) {
			/* the staged object was removed, and its number may be given to another
			 * one */
			if (made && !node->carried.staged && !note(carry, node))
				return false;
			continue;
		}
		*(made ? &carry->result->made : &carry->result->renamed) += 1;
		node->todo &= ~(unsigned)(TODO_MAKE | TODO_NAMES);
	}
	return !*carry->error;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_to_stage(const struct node *node)
{
	if (!node->here || S_ISDIR(node->st.st_mode))
		return false;
	return (node->todo & TODO_MAKE) || ((node->todo & TODO_DATA) && !is_kept(node));
}

/* A file that could not be made anew is as it was on the old server: it is not written in place
 * instead. */
static bool is_file_to_give(const struct node *node)
{
	return node->here && node->there && (node->todo & (TODO_DATA | TODO_META)) &&
	       !is_to_stage(node) && !S_ISDIR(node->st.st_mode);
}

static bool is_directory_to_give(const struct node *node)
{
	return node->here && node->there && (node->todo & TODO_META) && S_ISDIR(node->st.st_mode);
}

static bool is_durable(struct carry *carry, int ret)
{
	if (ret && !*carry->error)
		g_set_error(carry->error, G_FILE_ERROR, g_file_error_from_errno(-ret),
			    "what is carried is not durable, here or on the old server: %s",
			    g_strerror(-ret));
	return !ret;
}

/* The object stays as it is, except that a step of the way back has moved its ctime. */
static bool note_left(struct carry *carry, struct node *node)
{
	g_autofree char *path = tree_path(node);
	struct stat st;

	if (node->there && !node->conflict && path &&
	    !target_stat(carry->tree->target, path, &st) && displace_is_known(node, &st, true))
		node->carried.ctime = migrate_ns(st.st_ctim);
	return note(carry, node);
}

/* The files of a batch, which are durable, come to their places.  placed: what is to be noted when
 * that is durable. */
static bool publish(struct carry *carry, const GPtrArray *batch, GPtrArray *placed)
{
	/* what comes to its place moves the ctime of what was there */
	for (guint i = 0; i < batch->len; i++)
		((struct node *)batch->pdata[i])->carried.ctime = 0;
	if (batch->len && (!note_all(carry, batch) || !commit(carry)))
		return false;
	for (guint i = 0; i < batch->len && !stops(carry); i++) {
		struct node *node = batch->pdata[i];
		bool made = node->todo & TODO_MAKE;

		if (!steps_place(carry, node)) {
			if (!node->carried.staged && !note_left(carry, node))
				return false;
			continue;
		}
		*(made ? &carry->result->made : &carry->result->changed) += 1;
		if (take_done(carry, node))
			g_ptr_array_add(placed, node);
	}
	return true;
}

/* Where the next batch ends. */
static guint end_of_batch(const GPtrArray *nodes, guint from)
{
	uint64_t bytes = 0;
	guint i = from;

	while (i < nodes->len && i - from < carry_batch_files && bytes < BATCH_BYTES)
		bytes += (uint64_t)((const struct node *)nodes->pdata[i++])->st.st_size;
	return i;
}

struct batches {
	GPtrArray *made, *durable; /* in TARGET_STAGE */
	GPtrArray *placed;	   /* but maybe not durably */
};

/* One batch is made while the one before it becomes durable, and the one before that comes to its
 * places. */
static bool carry_batch(struct carry *carry, struct batches *batches, gpointer *nodes, guint count)
{
	struct parallel *several = parallel_begin(carry, nodes, count);
	struct syncing *syncing =
		batches->made->len + batches->placed->len ? syncing_begin(carry->tree) : NULL;
	g_autoptr(GPtrArray) placed = batches->placed;
	bool good;

	batches->placed = g_ptr_array_new();
	good = publish(carry, batches->durable, batches->placed);
	if (syncing)
		good = is_durable(carry, syncing_end(syncing)) && good;
	if (good)
		note_placed(carry, placed);
	g_ptr_array_unref(batches->durable);
	batches->durable = batches->made;
	batches->made = g_ptr_array_new();
	parallel_end(several, batches->made);
	return good;
}

static bool carry_files(struct carry *carry)
{
	g_autoptr(GPtrArray) nodes = select_nodes(carry->tree, is_to_stage);
	struct batches batches = {g_ptr_array_new(), g_ptr_array_new(), g_ptr_array_new()};
	bool good = true;

	/* the last one becomes durable, and then comes to its places */
	for (guint i = 0, end; good && !stops(carry) && (i < nodes->len || batches.made->len);
	     i = end) {
		end = end_of_batch(nodes, i);
		good = carry_batch(carry, &batches, nodes->pdata + i, end - i);
	}
	if (good && !stops(carry))
		good = publish(carry, batches.durable, batches.placed);
	if (good && batches.placed->len) /* else a note could be durable before its object */
		good = is_durable(carry, syncing_end(syncing_begin(carry->tree)));
	if (good)
		note_placed(carry, batches.placed);
	g_ptr_array_unref(batches.made);
	g_ptr_array_unref(batches.durable);
	g_ptr_array_unref(batches.placed);
	return good && !*carry->error;
}

static bool give_all(struct carry *carry, bool (*wanted)(const struct node *node))
{
	g_autoptr(GPtrArray) nodes = select_nodes(carry->tree, wanted);

	for (guint i = 0; i < nodes->len && !stops(carry); i++) {
		struct node *node = nodes->pdata[i];

		if (!steps_give(carry, node))
			continue;
		carry->result->changed++;
		node->todo &= ~(unsigned)(TODO_DATA | TODO_META);
		if (!S_ISDIR(node->st.st_mode) && !note_done(carry, node))
			return false;
	}
	return !*carry->error;
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool is_to_remove(const struct node *node)
{
	return (node->todo & TODO_REMOVE) && node->there;
}

static bool remove_those(struct carry *carry, bool directories)
{
	g_autoptr(GPtrArray) nodes = select_nodes(carry->tree, is_to_remove);

	for (guint i = nodes->len; i > 0 && !stops(carry); i--) {
		struct node *node = nodes->pdata[i - 1];

		if (S_ISDIR(node->old.st_mode) != directories || !steps_remove(carry, node))
			continue;
		carry->result->removed++;
		if (!note_done(carry, node))
			return false;
	}
	return !*carry->error;
}

/* A file may have names in several directories. */
static bool remove_all(struct carry *carry)
{
	rows_spare(carry->tree);
	return remove_those(carry, false) && remove_those(carry, true);
}

static bool is_left(const struct node *node)
{
	return node->left == LEFT_LATER || (node->todo & ~(unsigned)TODO_TIMES);
}

static bool settle_node(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;

	for (guint i = 0; i < active->len && !stops(carry); i++) {
		struct node *node = active->pdata[i];

		if (node->here && (node->todo & TODO_TIMES) && steps_give_times(carry, node))
			node->todo &= ~(unsigned)TODO_TIMES;
		if (is_left(node))
			tree_unsettle(node);
	}
	for (guint i = 0; i < active->len && !stops(carry); i++) {
		struct node *node = active->pdata[i];
		bool left = is_left(node);

		if (left && !node->conflict) {
			g_autofree char *path = tree_shown_path(node);

			carry->result->left++;
			g_debug("left for the next run: %s, todo %x%s", path, node->todo,
				node->left == LEFT_LATER ? ", changing" : "");
		}
		if (left || node->noted || node->left == LEFT_UNSAID ||
		    (node->conflict && !(node->moved && node->there)))
			continue;
		if (!note_done(carry, node))
			return false;
	}
	const struct node *root = carry->tree->root;
	if (!carry->tree->window && root->flags & JOURNAL_META && !is_left(root) &&
	    !root->conflict && !root->their_rights)
		carry->tree->root_given = true;
	return !*carry->error && is_durable(carry, syncing_end(syncing_begin(carry->tree))) &&
	       leave_unsynced(carry) && commit(carry);
}

static void fetch_all(struct carry *carry)
{
	const GPtrArray *active = carry->tree->active;

	for (guint i = 0; i < active->len && !stops(carry); i++) {
		struct node *node = active->pdata[i];

		if (node->data || ((node->todo & TODO_MAKE) && S_ISREG(node->st.st_mode)))
			steps_fetch(carry, node);
	}
}

bool carry_out(struct tree *tree, const bool *stop, struct carry_result *result, GError **error)
{
	GError *mistake = NULL;
	struct carry carry = {.tree = tree, .stop = stop, .result = result, .error = &mistake};

	if (!tree->window)
		*result = (struct carry_result){0};
	carry.content = content_new(tree->config->name, tree->config->socket, stop);
	if (!tree->window)
		leftovers_clean(tree, &mistake);
	/* before anything is moved there: the retriever knows a stub's file by what it was there */
	fetch_all(&carry);
	touch_directories(&carry);
	exclusive_sync_begun(tree);
	/* Directories are given their attributes first, because names that come and go move their
	 * ctimes.  A security descriptor, though, might forbid these names. */
	const bool last = target_has_descriptors(tree->target);
	if (!stops(&carry) && is_durable(&carry, tree_sync(tree)) && note_intents(&carry) &&
	    (last || give_all(&carry, is_directory_to_give))) {
		park_all(&carry);
		if (stage_directories(&carry) && place_all(&carry, is_directory_to_place) &&
		    place_all(&carry, is_other_to_name) && carry_files(&carry) &&
		    (!last || give_all(&carry, is_directory_to_give)) &&
		    give_all(&carry, is_file_to_give) && remove_all(&carry))
			settle_node(&carry);
	}
	put_back_all(&carry);
	content_free(carry.content);
	if (mistake)
		g_propagate_error(error, mistake);
	return !mistake;
}
