/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Taking a directory of our own copy with all that is in it, instead of file by file.
 *
 * It is compared while it is in the prior copy, which no door shows: with the old server's listing
 * of it, entry by entry, as files that are taken one by one are (prior.h).  When each of them is
 * the same, and nothing else is in it, the marks go, and it comes to its name in one step, as a
 * filled directory: with a record, which stays until all in it was looked at (I5).  It is a leaf:
 * what is below a directory in it was not compared.  Whoever comes first makes the name: after a
 * client did, it is a directory to be filled, whose files are taken one by one.  It is never put
 * into the place of that one, which clients may know by its inode.
 *
 * A crash leaves it in one of the two places.  Before the step some of its files may have lost
 * their marks: these, WHOLE_MAX of them at most, are fetched again.
 */
#ifndef RETRIEVER_MAKING_TAKE_DIRECTORY_H
#define RETRIEVER_MAKING_TAKE_DIRECTORY_H

#include "retriever/making/take.h"

#define WHOLE_MAX 1024 /* entries: who looks up the name may have to wait for their marks to go */

/* Whether that directory is to be listed for it.  Blocks for the disk. */
bool take_may(const struct retriever *retriever, const struct make_parent *parent,
	      const struct source_entry *entry);
/* With parent->listing.  As take_prior(). */
bool take_directory(struct new_object *m, int *ret);

#endif
