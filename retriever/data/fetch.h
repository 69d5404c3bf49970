/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bringing data: from "this range is missing" to bytes in the page cache.
 *
 * A demand fetches an aligned window round what is asked for, growing from 256 KiB to 8 MiB for
 * sequential readers, and joins demand reads that are under way; it does not join background reads,
 * which may wait behind others (I11): then the same bytes come twice, and the first win.
 *
 * What may crash where.  Bytes are written with pwrite into ranges that the record lists as
 * missing; a kill or power cut leaves them listed, and they are fetched again.  A range counts as
 * here in memory once its bytes are in the page cache, and leaves the record when they are durable
 * (durability.h).  All-zero blocks stay holes, unless something is in the file there already.
 *
 * Each reply's attributes are compared with what the old server had when the stub was made: bytes
 * of a file that has changed since are never written (-ESTALE).
 */
#ifndef RETRIEVER_DATA_FETCH_H
#define RETRIEVER_DATA_FETCH_H

#include "retriever/objects/object.h"

/*
 * done(0): no byte of [start, end) is missing.  Errors: see migrate.h.  May call done at once.
 * Where the disk cannot keep up, it begins only when what came before has become durable.
 */
void transfer_fetch(struct object *object, uint64_t start, uint64_t end, bool background,
		    object_done_fn done, void *arg);

/* The same of a file that is not normal, however far behind the disk is. */
void transfer_fetch_now(struct object *object, uint64_t start, uint64_t end, bool background,
			object_done_fn done, void *arg);

/* Nobody waits for it any more, arg: of a transfer_fetch() that was not answered.  Answers it with
 * -ECANCELED and takes back reads that nobody waits for and the old server was not asked for yet.
 * False: it is answered, or is not waiting for the old server. */
bool transfer_cancel(struct object *object, void *arg);

/* The object has a new handle on the old server, or what was asked of it is of no use: who waits
 * for what is here is answered, for what is not it is read. */
void transfer_again(struct object *object);

#endif
