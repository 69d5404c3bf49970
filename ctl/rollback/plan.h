/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans what is to be done on the old server, so that its tree becomes as clients see the new one.
 *
 * Directories whose names clients changed are listed on both servers.  An object on the old server
 * that has been known since the switch, or was carried, is recognised by its fileid, every other
 * one by its place.
 *
 * What somebody else changed there is a conflict, and stays: an object that is to be removed or
 * changed and is not as the way back left it; an object that was never carried and whose ctime is
 * after the switch, unless its stub knows that ctime; a name that no object here ever had, also of
 * an object that is here; over SMB, where a ctime may not tell of a rename, each name of which
 * nothing is known.  An object that is there already as it is here, with its attributes, is no
 * conflict.
 */
#ifndef CTL_ROLLBACK_PLAN_H
#define CTL_ROLLBACK_PLAN_H

#include "ctl/rollback/tree.h"

struct plan {
	uint64_t made, changed, renamed, removed; /* objects */
	uint64_t found, same; /* that a scan of the journal found; of these, equal there */
	uint64_t bytes;	      /* of data that is written */
	uint64_t fetched;     /* bytes that have to be fetched first */
	uint64_t carrying;    /* microseconds that it may take, without the data */
	unsigned seconds;
};

/*
 * The steps of plan_make(), each of them over all active nodes: what each one looks at, and which
 * members of nodes it may set, beside conflicts:
 *
 *   rows_load            rows, ledger.h, here   all but what is below; at
 *   list_here            directories here       compared, names, wanted, made, left, flags
 *   find_names           all of the tree here   at, guessed, made, belongs, left
 *   alone_leave_unknown  nothing else           left
 *   name_search_know     .migrate/links         fileid, belongs, made
 *   look                 places there           looked, there, old, at, last_path, last_dir, left
 *   leftovers_find       TARGET_STAGE           there, old, at: of what a killed run parked
 *   listing_there        directories there      compared, listed, at, wanted, strayed, left, why;
 *                                               in turns with `look`, until all is found
 *   name_search_run      all of the tree there  there, at, belongs, left, flags
 *   in_flight_leave      rows since rows_load   left, unsettled; a node that stays is a conflict
 *   decide               both objects           todo, version, data, theirs, at, left, why
 *   rows_spare           what waits for windows todo: of what the old server has alone
 *   obstacles_clear      nothing else           todo, left: of nodes that come to places, and of
 *                                               those that have the places
 *   count                stubs                  nothing; tree->planned
 *
 * Those up to listing_there make further nodes active.
 *
 * Fills tree->active, tree->conflicts, and tree->planned if there is one.  A window (rows.h) goes
 * without list_here, find_names, alone_leave_unknown, name_search_know, leftovers_find and
 * name_search_run, and adds to what is there and to *plan.  Blocks for both servers, changes
 * nothing.  FALSE with error set.
 */
bool plan_make(struct tree *tree, struct plan *plan, GError **error);

#endif
