/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finishes a directory: removes its record when everything below it is normal (I5) and its parent
 * directory is filled.  So a directory without a record in an unfilled directory was not made by
 * the retriever (I13).
 *
 * A finish looks at the entries without a lock.  Then it takes the lock of places, and removes the
 * record only if nothing was placed and the directory was not filled meanwhile (place.h).  It waits
 * for files that only have to become durable, and looks at these files alone afterwards.
 */
#ifndef RETRIEVER_NAMES_FINISH_H
#define RETRIEVER_NAMES_FINISH_H

#include "retriever/objects/object.h"

/* Removes a filled directory's record if all its entries are normal and its parent is filled.
 * done: 0, also where it had no record; -EAGAIN: some entry is not normal; -EREMOTEIO: each entry
 * that is not normal has failed.  Works on a worker; waits for a durability round when only that is
 * missing. */
void finish_directory(struct object *directory, object_done_fn done, void *arg);

#endif
