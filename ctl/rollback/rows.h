/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the journal says that clients changed: all of it at once, or, where that is much, in
 * windows, so that memory does not grow with it.
 *
 * Then the first plan leaves out the rows of files (and links, devices, ...) that have one name,
 * have it since the switch, were carried by it, or were made with it, in directories of which no
 * gap of the journal leaves doubts.  What is done to the names of others does not depend on them:
 * to that plan they are like files that were not changed, and a name here is no name that is gone
 * there. Each further plan is of a window of these alone, in the tree as the first one left it
 * there, like a run of the way back whose journal had the other rows already.  Nodes of all else
 * are `passive` in it: nothing is done to them, and of their rows it stays noted what was.  A
 * directory in which something was made is listed there again, for what may stand in the place of
 * that.
 *
 * The row of such a directory counts as dealt with when all windows came to their ends, because the
 * next run finds the names of what was made by comparing the directory.
 */
#ifndef CTL_ROLLBACK_ROWS_H
#define CTL_ROLLBACK_ROWS_H

#include "ctl/rollback/tree.h"

/* So many changed objects are planned at once; of more those that can wait are dealt with in
 * windows of a quarter of that: memory is theirs, and what cannot wait has its own.  Fewer in
 * tests. */
extern guint rows_at_once;

/* Makes nodes of the objects that have rows which were not dealt with yet, and of those that a run
 * was at when it was killed: tree->active, and the root; or of those of the window.  FALSE with
 * error set. */
bool rows_load(struct tree *tree, GError **error);
/* After plan_make() and, if it carries, carry_out(): empties the tree for the next window.  FALSE:
 * there is none. */
bool rows_more(struct tree *tree, bool carries);
/* After the last one was carried.  FALSE with error set. */
bool rows_end(struct tree *tree, GError **error);
/* What the first plan says of an object there: bits. */
enum fate {
	/* it is here, or was left, and is there, or was not found: it makes place for nothing */
	FATE_STAYS = 1 << 0,
	FATE_LEAVES = 1 << 1, /* its place; where that is planned alone */
	FATE_GIVES = 1 << 2,  /* it is gone here, and what waits comes to its place */
};
void rows_add_fate(struct tree *tree, uint64_t fileid, enum fate fate);
unsigned rows_fate(const struct tree *tree, uint64_t fileid);
/* Where something was not found there of which not all is here, it may be what the old server has
 * alone, under another name: none of that goes, if it is not known. */
void rows_spare(struct tree *tree);
/* Whether something in the directory waits for a window. */
bool rows_wait_in(const struct tree *tree, const struct node *dir);

#endif
