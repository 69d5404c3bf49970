/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is to be done on the old server, so that its tree is as clients see the new one.
 *
 * Directories whose names clients changed are listed on both servers; what is there and has been
 * known since the switch, or was carried, is told by its fileid, everything else by its place.
 *
 * What somebody else changed there is a conflict, and stays: an object that is to be removed or
 * changed and that is not as it was carried; or, where it never was, whose ctime is after the
 * switch (of the root: mtime), unless its stub knows that ctime; a name that nobody here ever had;
 * over SMB, where no ctime may tell a rename, each name of which nothing is known.  What is there
 * already as it is here is none.
 */
#ifndef PLAN_H
#define PLAN_H

#include "tree.h"

enum todo {
	TODO_MAKE = 1 << 0,
	TODO_NAMES = 1 << 1, /* names come or go: node->wanted against node->at */
	TODO_DATA = 1 << 2,
	TODO_META = 1 << 3,
	TODO_REMOVE = 1 << 4,
	TODO_PARK = 1 << 5,  /* out of the way, before something else takes its place */
	TODO_TIMES = 1 << 6, /* of a directory, when all is done in it */
};

struct plan {
	uint64_t made, changed, renamed, removed; /* objects */
	uint64_t bytes;				  /* of data that is written */
	uint64_t fetched;			  /* of these, bytes that are not here yet */
	unsigned seconds;
};

/* Fills tree->active, and tree->conflicts.  Blocks for both servers, changes nothing.  FALSE with
 * error set. */
bool plan_make(struct tree *tree, struct plan *plan, GError **error);

/* Whether the name is to go: in a directory that was compared, or is gone, or in OLD_STAGE. */
bool plan_drops(const struct node *node, const struct place *place);

#endif
