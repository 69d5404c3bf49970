/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is to be done on the old server, so that its tree is as clients see the new one.
 *
 * Directories whose names clients changed are listed on both servers; what is there and has been
 * known since the switch, or was carried, is told by its fileid, everything else by its place.
 *
 * What somebody else changed there is a conflict, and stays: an object that is to be removed or
 * changed and that is not as it was carried; or, where it never was, whose ctime is after the
 * switch, unless its stub knows that ctime; a name that nobody here ever had,
 * also of what is here; over SMB, where no ctime may tell a rename, each name of which nothing is
 * known.  What is there already as it is here, with its attributes, is none.
 */
#ifndef CTL_ROLLBACK_PLAN_H
#define CTL_ROLLBACK_PLAN_H

#include "ctl/rollback/tree.h"

struct plan {
	uint64_t made, changed, renamed, removed; /* objects */
	uint64_t found, same; /* that a scan of the journal found; that are as they are there */
	uint64_t bytes;	      /* of data that is written */
	uint64_t fetched;     /* of these, bytes that are not here yet */
	uint64_t carrying;    /* that it may take but for data, us */
	unsigned seconds;
};

/*
 * What plan_make() does, one after the other over all active nodes; what each looks at for that;
 * and what it may set of them, beside conflicts:
 *
 *   rows_load            rows, ledger.h, here   all but what is below; at
 *   list_here            directories here        compared, names, wanted, made, left, flags
 *   find_names           all of the tree here    at, guessed, made, belongs, left
 *   alone_leave_unknown  nothing else            left
 *   name_search_know         .migrate/links          fileid, belongs, made
 *   look                 places there            looked, there, old, at, last_path, last_dir, left
 *   leftovers_find           TARGET_STAGE               there, old, at: what a killed run has put
 * aside listing_there        directories there       compared, listed, at, wanted, strayed, left,
 * why; with `look`, till all is found name_search_run         all of the tree there   there, at,
 * belongs, left; flags in_flight_leave         rows since rows_load    left, unsettled; what stays
 * is a conflict decide               both objects            todo, version, data, theirs, at, left,
 * why rows_spare           what waits for windows  todo: of what the old server has alone
 *   obstacles_clear            nothing else            todo, left: of what comes to places, and has
 * them count                stubs                   nothing; tree->planned
 *
 * Those up to listing_there make further nodes active.
 *
 * Fills tree->active, tree->conflicts, and tree->planned where there is one.  In a window (rows.h),
 * of which list_here, find_names, to_come and leftovers_find know nothing, adds to what is there
 * and to *plan.  Blocks for both servers, changes nothing.  FALSE with error set.
 */
bool plan_make(struct tree *tree, struct plan *plan, GError **error);

#endif
