/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From "every name is here" to a record that says FILLED: it does when nobody is writing there and
 * no bracket is open.  A crash before that leaves an unfilled directory, and the next fill finds
 * its names there.
 */
#ifndef DIRECTORY_STATE_H
#define DIRECTORY_STATE_H

#include "volume/object.h"

/* Whether names are not the retriever's to make any more (I6): one that a client removed since must
 * not come back. */
bool directory_names_fixed(struct object *object);
/* With the lock held, of an unfilled directory: a fill has brought every name.  It becomes filled
 * on a worker, and who waits for it is answered.  list_again: fills it anew, where a name that was
 * listed is not here; any thread, no lock. */
void directory_set_complete(struct object *object, void (*list_again)(struct object *directory));

#endif
