/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the bytes of unfinished objects durable, and only then removes them from the objects'
 * records (I3), for many objects at a time and on a thread of its own.
 *
 * Objects with bytes in the page cache are queued.  About every second, or after 1,000 objects or
 * 256 MiB, the sync thread notes which bytes each object has now, syncs the file system, and only
 * then shrinks or removes the records: so a record lists every range that a power cut would lose.
 * Without the sync, 200 of 200 files were whole by their records, and all zeros, after a power cut.
 *
 * A failed write-back must not be lost in the answer to the first client that asks for a flush: the
 * kernel reports it once to each descriptor, and drops the bytes.  So the failure is kept as a
 * state of the file.  Flushes of a file come one after the other, and a failure is noted before
 * another flush can succeed.  After a failure no bytes in the page cache count as here: fetched
 * ranges are fetched again; ranges that a client wrote are missing again, so that the old bytes are
 * shown and never a hole; and the next client that asks for durability gets the error, as do
 * clients whose changes were under way.  If that disk cannot store such a record, the object stays
 * in memory, where the state is right, until the record can be stored: doors go by the record, but
 * ask about zeros.
 *
 * After ext4 has found errors in itself no sync counts as successful (damage.h).
 *
 * Before a file's record is removed its mtime is set back, with no bracket open, under the object's
 * lock.  If a crash undoes the removal of a record, the bytes are fetched again.
 */
#ifndef RETRIEVER_DATA_DURABILITY_H
#define RETRIEVER_DATA_DURABILITY_H

#include "retriever/objects/object.h"

struct durability;

/* Fetches the smallest missing ranges so that the record fits again. */
typedef void (*close_gaps_fn)(struct object *object, object_done_fn done, void *arg);

struct durability *durability_new(struct retriever *retriever, close_gaps_fn close_gaps);
/* Syncs the queued objects, shrinks or removes their records, and stops the thread.  No bracket may
 * be open.  Objects that are queued after that are not synced: their records still list the bytes.
 */
void durability_stop(struct durability *durability);
void durability_free(struct durability *durability);

/* Queues an object that got `bytes` more into the page cache (or has nothing missing any more). */
void durability_queue(struct object *object, uint64_t bytes);

/*
 * Whether so many objects wait to become durable that no more should get bytes: each keeps a
 * descriptor and memory, and is fetched again after a kill, and a round takes as long as the disk
 * needs.  The limit is 4,096, or a quarter of the descriptors that the process may have, for
 * background; twice as much for demand.
 */
bool durability_crowded(struct retriever *retriever, bool background);

/* Calls done on the sync thread after a round that covers everything queued up to now; at once with
 * -ECANCELED when the thread has stopped. */
void durability_after_round(struct retriever *retriever, object_done_fn done, void *arg);

/* The whole file system.  0 or -errno. */
int durability_sync_all(struct retriever *retriever);
/*
 * Makes this object durable for a client, on another thread: its data, its record, and a flush of
 * the record; a record that doesn't fit has its smallest gaps fetched first.  A normal object must
 * have a descriptor (object_keep_fd).  done: 0; -ENOSPC when the record doesn't fit; -errno, also
 * for bytes that were lost before.
 */
void durability_sync_later(struct object *object, object_done_fn done, void *arg);
/* The same for a reader, which gets no error for bytes that were lost before, and does not wait for
 * the record's flush. */
void durability_settle_later(struct object *object, object_done_fn done, void *arg);
/* Makes room in the record for one more bracket (object_has_room()): makes durable the bytes that
 * are here; if that is not enough, fetches the smallest gaps, which waits for the old server. */
void durability_make_room(struct object *object, object_done_fn done, void *arg);

#endif
