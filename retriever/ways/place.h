/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unfinished upwards (I5): giving ancestors records when something unfinished moves under them,
 * and taking a directory's record away when everything below is normal.
 *
 * A finish looks at the entries without a lock, then takes the tree lock and drops the record only
 * if nothing was placed meanwhile: `placings` counts.
 */
#ifndef PLACE_H
#define PLACE_H

#include "volume/object.h"

/*
 * The object, which is not normal, is about to get a name in dir_fd: that directory and its
 * ancestors up to the root get records, the object's record the path it has on the old server.
 * Where one of the directories was normal every door must know before the name is made: then 1 is
 * returned, and told(arg) is called when they do.  0: go on at once.  -errno.  After 0 and 1,
 * place_end() when the name is there or will not be.  Main thread.
 */
int place_begin(struct object *object, int dir_fd, void (*told)(void *arg), void *arg);
void place_end(struct retriever *retriever);

/* Drops a filled directory's record if all its entries are normal.  done: 0; -EAGAIN: something is
 * left.  Works on a worker; waits for a durability round when only that is missing. */
void place_finish(struct object *directory, object_done_fn done, void *arg);

#endif
