/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks a directory as filled once every name is here: its record says FILLED when no fill writes
 * there and no bracket is open.  A crash before that leaves an unfilled directory, and the next
 * fill finds its names there.
 */
#ifndef RETRIEVER_NAMES_FILL_STATE_H
#define RETRIEVER_NAMES_FILL_STATE_H

#include "lib/source/source.h"
#include "retriever/objects/object.h"

/* .migrate/ordered: the volume was attached by a release that finishes directories in order
 * (finish.h).  Earlier releases left some directories without a record in unfilled ones, where they
 * cannot be told from directories that another program made. */
#define ORDERED_FILE "ordered"

/* Whether the retriever must not make names in the directory any more (I6): a name that a client
 * has removed since must not come back. */
bool directory_names_fixed(struct object *object);
/* Whether the name, in a directory that is not filled, is a directory that a program of this
 * machine has made, and not the retriever.  Blocks for the disk, as does the next function. */
bool directory_is_foreign(const struct object *directory, const char *name);
/* Why the object that has the entry's name, in a directory that is not filled, cannot be the entry:
 * the object is foreign (directory_is_foreign()), or whole and of another type.  NULL: it can be.
 * A stub of another type fails later, when it is fetched (version.h). */
enum error_code directory_why_other(const struct object *directory,
				    const struct source_entry *entry);
/* With the lock held, for an unfilled directory of which a fill has brought every name: a worker
 * makes it filled and answers its waiters.  list_again: called where a name that was listed is not
 * here, to fill the directory anew; any thread, no lock. */
void directory_set_complete(struct object *object, void (*list_again)(struct object *directory));

#endif
