/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes a whole directory, with all files in it, from a copy that migratectl has made, instead of
 * file by file.
 *
 * While the directory is still in the prior copy, which no door shows, its entries are compared
 * with the old server's listing, one by one, in the same way as files that are taken one by one
 * (prior.h).  If each entry is the same, and nothing else is in the directory, the marks are
 * removed, and the directory is moved to its name in one step, as a filled directory: with a
 * record, which stays until everything in it was looked at (I5).  A directory that contains
 * directories is not taken, because nothing below those was compared.  If a client's request has
 * made the name first, that directory is filled as usual, and its files are taken one by one.  The
 * prior directory never replaces it, because clients may know it by its inode.
 *
 * A crash leaves the directory in one of the two places.  If it is still in the prior copy, some of
 * its files may have lost their marks: these files, at most WHOLE_MAX of them, are fetched again.
 */
#ifndef RETRIEVER_MAKING_TAKE_DIRECTORY_H
#define RETRIEVER_MAKING_TAKE_DIRECTORY_H

#include "retriever/making/take.h"

#define WHOLE_MAX 1024 /* entries: who looks up the name may have to wait for their marks to go */

/* Whether the entry is a directory that may be taken whole, and should be listed for that.  Blocks
 * for the disk. */
bool take_may(const struct retriever *retriever, const struct make_parent *parent,
	      const struct source_entry *entry);
/* Needs parent->listing.  TRUE: see *outcome.  FALSE: nothing is taken; *outcome means nothing. */
bool take_directory(struct new_object *m, enum make_outcome *outcome);

#endif
