/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fetches missing ranges of files from the old server into the page cache.
 *
 * A client's request fetches an aligned window around the range that is asked for, growing from 256
 * KiB to 8 MiB for sequential readers.  It joins clients' reads that are under way.  It does not
 * join background reads, which may wait behind others (I11): then the same bytes come twice, and
 * the first reply is written.
 *
 * What may crash where.  Bytes are written with pwrite into ranges that the record lists as
 * missing; a kill or power cut leaves them listed, and they are fetched again.  A range counts as
 * here in memory once its bytes are in the page cache, and leaves the record when they are durable
 * (durability.h).  All-zero blocks stay holes, unless something is in the file there already.
 *
 * Each reply's attributes are compared with those that the old server had when the stub was made:
 * bytes of a file that has changed since are never written (-ESTALE).
 */
#ifndef RETRIEVER_DATA_FETCH_H
#define RETRIEVER_DATA_FETCH_H

#include "retriever/objects/object.h"

/*
 * done(0): no byte of [start, end) is missing.  Errors: see migrate.h.  May call done at once.  If
 * the disk cannot keep up, the fetch begins only when earlier bytes have become durable.
 */
void fetch_range(struct object *object, uint64_t start, uint64_t end, bool background,
		 object_done_fn done, void *arg);

/* The same for a file that is not normal, and without waiting for the disk. */
void fetch_range_now(struct object *object, uint64_t start, uint64_t end, bool background,
		     object_done_fn done, void *arg);

/* Cancels a fetch_range() that was not answered; arg: the one that was passed to it.  Answers it
 * with -ECANCELED, and takes back reads that have no waiter left and that were not sent to the old
 * server yet.  False: it is answered, or is not waiting for the old server. */
bool fetch_cancel(struct object *object, void *arg);

#endif
