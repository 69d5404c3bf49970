/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From "every name is here" to a record that says FILLED: it does when nobody is writing there and
 * no bracket is open.  A crash before that leaves an unfilled directory, and the next fill finds
 * its names there.
 */
#ifndef RETRIEVER_NAMES_FILL_STATE_H
#define RETRIEVER_NAMES_FILL_STATE_H

#include "lib/source/source.h"
#include "retriever/objects/object.h"

/* .migrate/ordered: the volume was attached by a release that finishes directories in order
 * (finish.h).  Earlier ones left some without a record where it is told from nobody else's. */
#define ORDERED_FILE "ordered"

/* Whether names are not the retriever's to make any more (I6): one that a client removed since must
 * not come back. */
bool directory_names_fixed(struct object *object);
/* Whether the name in the directory, which is not filled, is of a directory that the retriever did
 * not make: a program of this machine did.  Blocks for the disk, like the next. */
bool directory_is_foreign(const struct object *directory, const char *name);
/* Why what has the entry's name in the directory, which is not filled, cannot be the entry: that is
 * foreign, or whole and of another kind.  NULL: it can.  A stub of another kind fails by itself,
 * when it is fetched (version.h). */
const char *directory_why_other(const struct object *directory, const struct source_entry *entry);
/* With the lock held, of an unfilled directory: a fill has brought every name.  It becomes filled
 * on a worker, and who waits for it is answered.  list_again: fills it anew, where a name that was
 * listed is not here; any thread, no lock. */
void directory_set_complete(struct object *object, void (*list_again)(struct object *directory));

#endif
