/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"

#define DOUBTS (JOURNAL_SCANNED | JOURNAL_MAYBE | JOURNAL_RETURNED | JOURNAL_GONE)

guint rows_at_once = 32768;

/* Whether the old server has a directory. */
enum origin {
	ORIGIN_DOUBTED, /* that cannot be said so easily */
	ORIGIN_THERE,	/* it was there at the switch, or was carried */
	ORIGIN_NOTHING, /* it was made here */
};

/* What became of a directory in the first plan. */
struct directory {
	uint64_t generation; /* to be noted when all windows were carried; 0: none is */
	enum left left;	     /* with all that is in it */
};

struct rows {
	struct tree *tree;
	GArray *handles; /* of struct migrate_binding: of what is to be dealt with */
	bool many;
	struct migrate_binding private; /* of .migrate/; len 0: there is none */
	struct migrate_binding dir;	/* that was asked for last, and its origin */
	enum origin origin;
};

/* ---- what can wait --------------------------------------------------------------------------- */

/* Of one directory, by itself. */
static enum origin origin_of_one(const struct rows *rows, const struct migrate_binding *handle)
{
	const struct tree *tree = rows->tree;
	struct ledger_entry carried;
	struct journal_row row;
	const bool has_row = journal_has_row(tree->journal, handle, &row);
	const bool was_carried = ledger_get(tree->ledger, handle, &carried) && carried.fileid;
	const bool is_done = has_row && carried.generation == row.generation;
	const bool killed = carried.touching || carried.staged;

	ledger_clear(&carried);
	if (killed || (has_row && !is_done && row.flags & DOUBTS))
		return ORIGIN_DOUBTED;
	return was_carried || !has_row || !(row.flags & JOURNAL_MADE) ? ORIGIN_THERE
								      : ORIGIN_NOTHING;
}

/* fd, an open directory, is closed. */
static enum origin origin_of(const struct rows *rows, int fd)
{
	enum origin origin = ORIGIN_DOUBTED;
	struct migrate_binding at, below = {0};

	for (unsigned depth = 0; fd >= 0 && depth < DEPTH_MAX; depth++) {
		enum origin one = ORIGIN_DOUBTED;

		if (!migrate_binding_get(fd, NULL, &at) &&
		    !(rows->private.len && migrate_binding_equal(&at, &rows->private)))
			one = origin_of_one(rows, &at);
		/* the top of the file system is above itself; and what was not made, below one
		 * that was, came with that */
		if (!one || (depth && migrate_binding_equal(&at, &below)) ||
		    (depth && origin == ORIGIN_THERE && one == ORIGIN_NOTHING))
			break;
		if (!depth)
			origin = one;
		if (migrate_binding_equal(&at, &rows->tree->root->handle)) {
			close(fd);
			return origin;
		}
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
		below = at;
	}
	if (fd >= 0)
		close(fd);
	return ORIGIN_DOUBTED;
}

/* Whether it is here, whole, under the name that its row tells, and under no other. */
static bool has_that_name_alone(const struct rows *rows, const struct journal_row *row, int dir)
{
	int fd = migrate_binding_open(rows->tree->root_fd, &row->handle,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct migrate_binding named;
	struct migrate_stub stub;
	struct stat st;
	bool has = fd >= 0 && !fstat(fd, &st) && st.st_nlink == 1 && !S_ISDIR(st.st_mode) &&
		   !migrate_binding_get(dir, row->name, &named) &&
		   migrate_binding_equal(&named, &row->handle);

	if (has && S_ISREG(st.st_mode)) {
		has = !migrate_stub_load(fd, &stub) && stub.state == MIGRATE_NORMAL;
		migrate_stub_clear(&stub);
	}
	if (fd >= 0)
		close(fd);
	return has;
}

/* *was_carried: by that name, if it was. */
static bool is_carried_so(const struct rows *rows, const struct journal_row *row, bool *was_carried)
{
	struct ledger_entry carried;
	bool so = true;

	ledger_get(rows->tree->ledger, &row->handle, &carried);
	*was_carried = carried.fileid;
	if (carried.fileid) {
		const struct ledger_name *name =
			carried.names && carried.names->len == 1
				? &g_array_index(carried.names, struct ledger_name, 0)
				: NULL;

		so = name && !strcmp(name->name, row->name) &&
		     migrate_binding_equal(&name->parent, &row->parent);
	}
	so = so && !carried.touching && !carried.staged && !carried.elsewhere;
	ledger_clear(&carried);
	return so;
}

/* rows->origin is its directory's, then. */
static bool can_wait(struct rows *rows, const struct journal_row *row)
{
	const bool made = row->flags & JOURNAL_MADE;
	bool was_carried;

	if (!row->parent.len || (made && row->flags & DOUBTS) ||
	    row->flags & ~(unsigned)(JOURNAL_MADE | JOURNAL_DATA | JOURNAL_META | JOURNAL_SCANNED |
				     JOURNAL_MAYBE) ||
	    !is_carried_so(rows, row, &was_carried))
		return false;
	int dir = migrate_binding_open(rows->tree->root_fd, &row->parent,
				       O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool can = dir >= 0 && has_that_name_alone(rows, row, dir);

	if (can && !migrate_binding_equal(&rows->dir, &row->parent)) {
		rows->dir = row->parent;
		rows->origin = origin_of(rows, dup(dir));
	}
	if (dir >= 0)
		close(dir);
	return can && (rows->origin == ORIGIN_THERE ||
		       (rows->origin == ORIGIN_NOTHING && made && !was_carried));
}

static void defer(struct rows *rows, const struct journal_row *row)
{
	struct deferred *deferred = &rows->tree->deferred;

	/* what cannot be written shows at the end */
	fwrite(&row->handle, sizeof(row->handle), 1, deferred->handles);
	deferred->waiting++;
	if (row->flags & JOURNAL_MADE && !g_hash_table_contains(deferred->dirs, &row->parent))
		g_hash_table_insert(deferred->dirs, g_memdup2(&row->parent, sizeof(row->parent)),
				    g_new0(struct directory, 1));
}

/* ---- all, or what cannot wait ---------------------------------------------------------------- */

static bool is_undone(const struct rows *rows, const struct journal_row *row)
{
	struct ledger *ledger = rows->tree->ledger;

	/* what was looked for, and is another tree's, is that until a name of it comes */
	return !ledger_is_done(ledger, &row->handle, row->generation) &&
	       !(tree_is_unplaced(row) && ledger_is_elsewhere(ledger, &row->handle));
}

static bool take_row_changes(void *arg, const struct journal_row *row)
{
	struct rows *rows = arg;

	if (is_undone(rows, row))
		g_array_append_val(rows->handles, row->handle);
	rows->many = rows->handles->len > rows_at_once;
	return !rows->many && !tree_stops(rows->tree, NULL);
}

static bool take_what_cannot_wait(void *arg, const struct journal_row *row)
{
	struct rows *rows = arg;

	if (!is_undone(rows, row))
		return true;
	if (can_wait(rows, row))
		defer(rows, row);
	else
		g_array_append_val(rows->handles, row->handle);
	return !tree_stops(rows->tree, NULL);
}

static void take_touched(void *arg, const struct migrate_binding *handle)
{
	if (handle->type) /* not of the old server alone */
		g_array_append_val((GArray *)arg, *handle);
}

static bool no_list(const struct tree *tree, GError **error)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
		    "the list of what is to be carried, beside %s: %s; is there room on its file "
		    "system?",
		    tree->config->report, g_strerror(errno));
	return false;
}

/* Most of it waits. */
static bool load_what_cannot_wait(struct rows *rows, GError **error)
{
	struct deferred *deferred = &rows->tree->deferred;

	deferred->handles = ledger_scratch(rows->tree->ledger, error);
	if (!deferred->handles ||
	    !journal_each(rows->tree->journal, 0, take_what_cannot_wait, rows, error))
		return false;
	if (fflush(deferred->handles) || ferror(deferred->handles))
		return no_list(rows->tree, error);
	rewind(deferred->handles);
	return true;
}

static bool load_all(struct rows *rows, GError **error)
{
	struct tree *tree = rows->tree;
	GArray *handles = rows->handles;

	ledger_each_touching(tree->ledger, take_touched, handles);
	const guint touched = handles->len;
	if (!journal_each(tree->journal, 0, take_row_changes, rows, error))
		return false;
	if (rows->many)
		g_array_set_size(handles, touched);
	if (rows->many && !load_what_cannot_wait(rows, error))
		return false;
	for (guint i = 0; i < handles->len; i++) {
		struct node *node =
			tree_node(tree, &g_array_index(handles, struct migrate_binding, i));

		if (node->active && node->scope != SCOPE_LOADED)
			tree_activate(tree, node);
		node->scope = SCOPE_LOADED;
	}
	/* a run that is killed after it changed TARGET_STAGE, and before it gave the root its
	 * times, leaves wrong ones */
	if (!tree->root->active) {
		tree->root->flags &= ~(unsigned)JOURNAL_META; /* that was dealt with */
		tree_activate(tree, tree->root);
	}
	return true;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* An object that was made here may come to a place that something else has there. */
static void compare_there(struct tree *tree, struct node *node, struct node *dir, const char *name)
{
	if (!dir->names)
		dir->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_insert(dir->names, g_strdup(name), node);
	dir->compared = true;
	if (!dir->active)
		tree_activate(tree, dir);
}

/* Loads one object of the window.  If it cannot wait any more, it was changed since the first plan,
 * and is left for the next run. */
static void load_one(struct rows *rows, const struct migrate_binding *handle)
{
	struct tree *tree = rows->tree;
	struct journal_row row;

	if (!journal_has_row(tree->journal, handle, &row) || !is_undone(rows, &row))
		return;
	const bool can = can_wait(rows, &row);
	const struct directory *of = g_hash_table_lookup(tree->deferred.dirs, &row.parent);
	const enum left left = of ? of->left : LEFT_NOT;
	struct node *node = tree_node(tree, handle);
	node->scope = SCOPE_LOADED;
	node->generation = row.generation;
	if (!can || left == LEFT_LATER ||
	    (tree->carries && rows->origin == ORIGIN_NOTHING && left != LEFT_UNSAID))
		node->left = LEFT_LATER;
	tree_activate(tree, node);
	if (node->left)
		return;
	struct node *dir = tree_node(tree, &row.parent);
	place_add(node->wanted, dir, row.name);
	dir->left = left;
	if (node->made && !node->was_carried)
		compare_there(tree, node, dir, row.name);
}

static bool read_handle(FILE *handles, struct migrate_binding *handle)
{
	return fread(handle, sizeof(*handle), 1, handles) == 1;
}

static bool is_missed(struct tree *tree, const struct journal_row *row)
{
	g_autofree char *dir = tree_path(tree_node(tree, &row->parent));
	g_autofree char *path = dir ? target_path(dir, row->name) : NULL;
	struct ledger_entry carried;
	struct stat st;
	bool missed = !path || target_stat(tree->target, path, &st);

	if (ledger_get(tree->ledger, &row->handle, &carried)) {
		missed = missed || (carried.fileid && carried.fileid != st.st_ino);
		ledger_clear(&carried);
	}
	return missed;
}

/* Whether something that waits, and was not made, is not where it is to be there. */
static bool miss_waiting(struct tree *tree)
{
	FILE *handles = tree->deferred.handles;
	struct migrate_binding handle;
	struct journal_row row;
	bool missed = false;

	if (!handles)
		return false;
	const off_t at = ftello(handles);
	rewind(handles);
	while (!missed && !tree_stops(tree, NULL) && read_handle(handles, &handle))
		missed = journal_has_row(tree->journal, &handle, &row) && row.parent.len &&
			 !(row.flags & JOURNAL_MADE) && is_missed(tree, &row);
	missed |= ferror(handles) != 0;
	return fseeko(handles, at, SEEK_SET) < 0 || missed;
}

static bool is_missed_there(const struct node *node)
{
	if (node->here && !node->there && node->left == LEFT_LATER)
		return !node->made || node->made_guessed;
	return node->here && !node->there && node->conflict &&
	       (S_ISDIR(node->st.st_mode) ? !node->names : S_ISREG(node->st.st_mode));
}

/* Whether the object is to be removed, and only the old server has it. */
static bool is_unknown(const struct tree *tree, const struct node *node)
{
	return (node->todo & TODO_REMOVE) && !node->handle.type && !node->was_carried &&
	       !(rows_fate(tree, node->old.st_ino) & FATE_GIVES);
}

void rows_spare(struct tree *tree)
{
	struct deferred *deferred = &tree->deferred;

	deferred->missed |= tree->unread || tree->unscanned;
	for (guint i = 0; i < tree->active->len && !deferred->missed; i++)
		deferred->missed = is_missed_there(tree->active->pdata[i]);
	for (guint i = 0; i < tree->active->len; i++) {
		struct node *node = tree->active->pdata[i];

		if (!is_unknown(tree, node))
			continue;
		if (!deferred->missed && !deferred->looked)
			deferred->missed = miss_waiting(tree);
		deferred->looked = true;
		if (!deferred->missed)
			return;
		node->todo = 0;
		tree_conflict(tree, node,
			      "is on the old server alone, and may be what was not found there");
	}
}

static bool load_window(struct rows *rows, GError **error)
{
	struct tree *tree = rows->tree;
	struct deferred *deferred = &tree->deferred;
	/* each object of a window costs pages of two stores, too */
	const guint window = MAX(rows_at_once / 4, 1);

	tree_activate(tree, tree->root);
	tree->root->todo = TODO_TIMES;
	for (guint i = 0; i < window && deferred->waiting; i++, deferred->waiting--) {
		struct migrate_binding handle;

		if (!read_handle(deferred->handles, &handle))
			return no_list(tree, error);
		load_one(rows, &handle);
	}
	return true;
}

bool rows_load(struct tree *tree, GError **error)
{
	g_autoptr(GArray) handles = g_array_new(FALSE, FALSE, sizeof(struct migrate_binding));
	struct rows rows = {.tree = tree, .handles = handles};

	if (migrate_binding_get(tree->root_fd, MIGRATE_PRIVATE_DIR, &rows.private))
		rows.private.len = 0;
	return tree->window ? load_window(&rows, error) : load_all(&rows, error);
}

bool rows_wait_in(const struct tree *tree, const struct node *dir)
{
	return !tree->window && g_hash_table_contains(tree->deferred.dirs, &dir->handle);
}

static void take_directories(const struct tree *tree)
{
	GHashTableIter iter;
	gpointer handle, value;

	g_hash_table_iter_init(&iter, tree->deferred.dirs);
	while (g_hash_table_iter_next(&iter, &handle, &value)) {
		const struct node *dir = g_hash_table_lookup(tree->nodes, handle);
		struct directory *of = value;

		of->left = dir ? dir->left : LEFT_NOT;
		if (dir && dir->noted && dir->left != LEFT_LATER && !dir->conflict &&
		    !dir->unsettled)
			of->generation = dir->generation;
	}
}

unsigned rows_fate(const struct tree *tree, uint64_t fileid)
{
	const guint64 key = fileid;

	return GPOINTER_TO_UINT(g_hash_table_lookup(tree->deferred.fates, &key));
}

void rows_add_fate(struct tree *tree, uint64_t fileid, enum fate fate)
{
	const guint64 key = fileid;

	if (fileid)
		g_hash_table_insert(tree->deferred.fates, g_memdup2(&key, sizeof(key)),
				    GUINT_TO_POINTER(rows_fate(tree, fileid) | fate));
}

/* Notes for the windows what becomes of objects there: a window has no nodes of objects that are
 * not in it, and an object that was not carried yet is known only by what it has there. */
static void take_fates(struct tree *tree, bool carries)
{
	for (guint i = 0; i < tree->active->len; i++) {
		const struct node *node = tree->active->pdata[i];

		if (!carries && node->there && node->todo & (TODO_NAMES | TODO_REMOVE))
			rows_add_fate(tree, node->old.st_ino, FATE_LEAVES);
		if (tree_is_gone(node) && node->left != LEFT_LATER && !node->conflict)
			continue;
		rows_add_fate(tree, node->there ? node->old.st_ino : node->fileid, FATE_STAYS);
		rows_add_fate(tree, node->carried.fileid, FATE_STAYS);
		rows_add_fate(tree, node->carried.staged, FATE_STAYS);
	}
}

/* FALSE: the directory is not compared again by itself. */
static bool compare_again(const struct tree *tree, const struct node *dir)
{
	struct directory *of = g_hash_table_lookup(tree->deferred.dirs, &dir->handle);

	if (of)
		of->generation = 0;
	return of;
}

/* The next run looks for the names of what is left in their directories; for an object that the old
 * server cannot have, and that comes again for ever, in its own directory alone. */
static void take_what_is_left(struct tree *tree)
{
	for (guint i = 0; i < tree->active->len; i++) {
		const struct node *node = tree->active->pdata[i];

		tree->deferred.left |= node->conflict || node->left == LEFT_LATER ||
				       (node->unsettled && !compare_again(tree, node)) ||
				       (node->scope == SCOPE_LOADED && node->left != LEFT_UNSAID &&
					node->carried.generation != node->generation);
	}
}

bool rows_more(struct tree *tree, bool carries)
{
	const struct deferred *deferred = &tree->deferred;

	if (!deferred->handles)
		return false;
	if (tree->window) {
		take_what_is_left(tree);
	} else {
		take_directories(tree);
		take_fates(tree, carries);
	}
	if (!deferred->waiting)
		return false;
	tree->window = true;
	tree->carries = carries;
	tree_empty(tree);
	return true;
}

bool rows_end(struct tree *tree, GError **error)
{
	GHashTableIter iter;
	gpointer handle, value;
	GHashTable *unsynced = target_unsynced(tree->target);
	bool good = true;

	if (!tree->window || tree->deferred.left || (unsynced && g_hash_table_size(unsynced)))
		return true;
	g_hash_table_iter_init(&iter, tree->deferred.dirs);
	while (good && g_hash_table_iter_next(&iter, &handle, &value)) {
		const struct directory *of = value;
		struct ledger_entry carried;

		if (of->generation && ledger_get(tree->ledger, handle, &carried)) {
			carried.generation = of->generation;
			good = ledger_put(tree->ledger, handle, &carried, error);
			ledger_clear(&carried);
		}
	}
	return good && ledger_commit(tree->ledger, error);
}
