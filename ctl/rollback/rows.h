/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the journal says that clients changed: all of it at once, or, if that is much, in windows,
 * so that memory does not grow with it.
 *
 * With windows, the first plan leaves out the rows of files (and links, devices, ...) that can
 * wait. Such a file has one name, and has had it since the switch, was carried by it, or was made
 * with it, in a directory of which no gap of the journal leaves doubts.  What is done to the names
 * of other objects does not depend on these files: in the first plan they count as files that were
 * not changed, and a name that they have here does not count as gone there.  Each further plan is
 * of a window of these files alone, in the tree as the first plan left it there; it is like a run
 * of the way back that finds the other rows dealt with.  Nodes of all other objects are `passive`
 * in it: nothing is done to them, and what was noted of their rows stays noted.  A directory in
 * which something was made is listed there again, because something may stand in the place of what
 * was made.
 *
 * The row of such a directory counts as dealt with when all windows have come to their ends,
 * because the next run finds the names of what was made by comparing the directory.
 */
#ifndef CTL_ROLLBACK_ROWS_H
#define CTL_ROLLBACK_ROWS_H

#include "ctl/rollback/tree.h"

/* How many changed objects are planned at once.  If there are more, those that can wait are dealt
 * with in windows of a quarter of this number, which bounds the memory for them; those that cannot
 * wait are in memory all together.  Tests set fewer. */
extern guint rows_at_once;

/* Makes active nodes of the objects whose rows were not dealt with yet, of those that a killed run
 * was at, and of the root; in a window, of the window's objects and the root.  FALSE with error
 * set. */
bool rows_load(struct tree *tree, GError **error);
/* Call it after plan_make() and, if `carries`, carry_out(): empties the tree for the next window.
 * FALSE: there is none. */
bool rows_more(struct tree *tree, bool carries);
/* Call it after the last window was carried: notes the rows of the directories in which something
 * was made.  FALSE with error set. */
bool rows_end(struct tree *tree, GError **error);
/* What the first plan says of an object on the old server, as bits. */
enum fate {
	/* nothing takes its place: it is here or was left, whether it was found there or not */
	FATE_STAYS = 1 << 0,
	FATE_LEAVES = 1 << 1, /* it leaves its place; only if nothing is carried */
	FATE_GIVES = 1 << 2,  /* it is gone here, and an object that waits comes to its place */
};
void rows_add_fate(struct tree *tree, uint64_t fileid, enum fate fate);
unsigned rows_fate(const struct tree *tree, uint64_t fileid);
/* An object of which not all is here, and which was not found on the old server, may be one that
 * the old server seems to have alone, under another name.  So if there is such an object, what the
 * old server has alone and nothing is known of is not removed, but is a conflict. */
void rows_spare(struct tree *tree);
/* Whether something in the directory waits for a window. */
bool rows_wait_in(const struct tree *tree, const struct node *dir);

#endif
