/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Taking a directory's record away when everything below is normal (I5), and the directory that it
 * is in is filled: so in one that is not, a directory without a record is not ours (I13).
 *
 * A finish looks at the entries without a lock, then takes the lock of places and drops the record
 * only if nothing was placed and the directory was not filled meanwhile (place.h).  Files that need
 * only become durable are waited for, and are all that is looked at then.
 */
#ifndef RETRIEVER_NAMES_FINISH_H
#define RETRIEVER_NAMES_FINISH_H

#include "retriever/objects/object.h"

/* Drops a filled directory's record if all its entries are normal and its parent is filled.  done:
 * 0, also where it had none; -EAGAIN: something is left; -EREMOTEIO: what is left has failed. Works
 * on a worker; waits for a durability round when only that is missing. */
void finish_directory(struct object *directory, object_done_fn done, void *arg);

#endif
