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

struct plan {
	uint64_t made, changed, renamed, removed; /* objects */
	uint64_t bytes;				  /* of data that is written */
	uint64_t fetched;			  /* of these, bytes that are not here yet */
	unsigned seconds;
};

/* Fills tree->active, and tree->conflicts.  Blocks for both servers, changes nothing.  FALSE with
 * error set. */
bool plan_make(struct tree *tree, struct plan *plan, GError **error);

#endif
