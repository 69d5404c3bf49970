/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/in_flight.h"

#include "ctl/rollback/alone.h"
#include "journal/store/layout.h"

struct moving {
	struct tree *tree;
	GHashTable *rows; /* a handle -> the flags, of what was changed since the plan's rows */
	bool directories; /* some were moved, maybe past who searched for names */
};

#define UNPLACED (1u << 31) /* beside the flags */
#define NAMED	 (JOURNAL_NAMES | JOURNAL_MADE)

static bool take_row(void *arg, const struct journal_row *row)
{
	struct moving *moving = arg;

	g_hash_table_insert(moving->rows, g_memdup2(&row->handle, sizeof(row->handle)),
			    GUINT_TO_POINTER(row->flags | (tree_is_unplaced(row) ? UNPLACED : 0)));
	moving->directories |= row->flags & JOURNAL_DIRECTORY && row->flags & NAMED;
	return true;
}

/* An object that was nowhere may have been moved meanwhile, from a directory that was not searched
 * yet to one that was. */
static bool may_be_here(const struct moving *moving, const struct node *node)
{
	gpointer flags;

	return node->belongs == BELONGS_ELSEWHERE &&
	       (moving->directories ||
		(g_hash_table_lookup_extended(moving->rows, &node->handle, NULL, &flags) &&
		 !(GPOINTER_TO_UINT(flags) & UNPLACED)));
}

/* Whether names may have left the directory.  Of one that only the old server has (type 0) no row
 * tells. */
static bool is_moving(const struct moving *moving, const struct node *dir)
{
	return dir->handle.type ? g_hash_table_contains(moving->rows, &dir->handle)
				: g_hash_table_size(moving->rows) > 0;
}

/* Whether a guess about the node may be wrong. */
static bool is_wrong(const struct moving *moving, const struct node *node)
{
	gpointer flags;

	if (!(node->guessed || node->made_guessed) ||
	    !g_hash_table_lookup_extended(moving->rows, &node->handle, NULL, &flags))
		return false;
	if (node->made_guessed || (node->active && !node->there) ||
	    (GPOINTER_TO_UINT(flags) & (JOURNAL_NAMES | JOURNAL_MADE | JOURNAL_GONE)))
		return true;
	for (guint i = 0; i < node->at->len; i++) {
		const struct place *place = node->at->pdata[i];

		if (place->guessed && !tree_is_named(moving->tree, node, place))
			return true;
	}
	return false;
}

static bool is_doubtful(const struct moving *moving, const struct node *node);

static bool is_dir_doubtful(const struct moving *moving, const struct node *node,
			    const struct node *dir)
{
	return dir && dir != node &&
	       ((!node->handle.type && is_moving(moving, dir)) || is_doubtful(moving, dir));
}

static bool is_doubtful(const struct moving *moving, const struct node *node)
{
	if (is_wrong(moving, node))
		return true;
	for (guint i = 0; i < node->at->len; i++)
		if (is_dir_doubtful(moving, node, ((struct place *)node->at->pdata[i])->dir))
			return true;
	return !node->at->len && is_dir_doubtful(moving, node, node->last_dir);
}

/* Leaves the node for the next run; a directory with something in it that is left cannot be
 * removed. */
static void leave(struct node *node)
{
	node->left = LEFT_LATER;
	for (guint i = 0; i < node->at->len; i++) {
		struct node *dir = ((struct place *)node->at->pdata[i])->dir;

		if (!dir)
			continue;
		dir->unsettled = true;
		if (dir->left != LEFT_LATER && tree_is_gone(dir))
			leave(dir);
	}
}

static void check_node(struct moving *moving, struct node *node)
{
	/* an object that is being removed looks the same */
	if (node->unseen && !g_hash_table_contains(moving->rows, &node->handle))
		alone_tell(moving->tree, node);
	/* a directory may have been moved between two listings */
	if (node->left == LEFT_LATER || node->unseen || is_doubtful(moving, node) ||
	    may_be_here(moving, node) || (S_ISDIR(node->st.st_mode) && node->wanted->len > 1))
		leave(node);
	else if (node->left == LEFT_STAYS)
		tree_conflict(moving->tree, node, node->why);
}

bool in_flight_leave(struct tree *tree, uint64_t generation, GError **error)
{
	g_autoptr(GHashTable) rows =
		g_hash_table_new_full(journal_handle_hash, journal_handle_equal, g_free, NULL);
	struct moving moving = {.tree = tree, .rows = rows};

	if (tree->settle && (!tree->settle(tree->journal, error) ||
			     !journal_each(tree->journal, generation, take_row, &moving, error)))
		return false;
	for (guint i = 0; i < tree->active->len; i++)
		check_node(&moving, tree->active->pdata[i]);
	return true;
}
