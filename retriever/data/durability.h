/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Durable first, then out of the record (I3), in groups and off the hot path.
 *
 * Objects with bytes in the page cache are queued.  About every second, 1,000 objects or 256 MiB
 * the sync thread notes what each object has now, makes the file system durable, and only then
 * shrinks or drops the records: a record never says less than what a power cut leaves.  Without the
 * sync, 200 of 200 files were whole by record and all zeros after one.
 *
 * A write-back that fails is the file's own state, not the answer of whoever asked first: the
 * kernel tells each descriptor once, and drops the bytes.  So flushes of a file come one after the
 * other, and a failure is noted before another can succeed.  Then nothing that is in the page cache
 * counts as here any more: what was fetched is fetched again; what a client wrote is missing again,
 * so that the old bytes are shown and never a hole, and the next client that asks for durability is
 * told, as are those whose changes were under way.  If the record cannot say so, on that disk, the
 * object is kept in memory, which does, until it can: doors go by the record, but ask about zeros.
 *
 * Where ext4 has found errors in itself no sync is believed (damage.h).
 *
 * Dropping the last record of a file first sets its mtime back, with no bracket open, under the
 * object's lock.  A drop that is lost means that the bytes are fetched again.
 */
#ifndef RETRIEVER_DATA_DURABILITY_H
#define RETRIEVER_DATA_DURABILITY_H

#include "retriever/objects/object.h"

struct durability;

/* Fetches the smallest missing ranges so that the record fits again. */
typedef void (*close_gaps_fn)(struct object *object, object_done_fn done, void *arg);

struct durability *durability_new(struct retriever *retriever, close_gaps_fn close_gaps);
/* Syncs and drops what is queued, stops the thread.  No bracket may be open.  What is queued after
 * that is not waited for: the record still lists it. */
void durability_stop(struct durability *durability);
void durability_free(struct durability *durability);

/* Queues an object that got `bytes` more into the page cache (or has nothing missing any more). */
void durability_queue(struct object *object, uint64_t bytes);

/*
 * Whether so many objects wait to become durable that no more should get bytes: each keeps a
 * descriptor and memory, is fetched again after a kill, and a round takes as long as the disk does.
 * 4,096, or a quarter of the descriptors that the process may have; demand has twice as much room
 * as background.
 */
bool durability_crowded(struct retriever *retriever, bool background);

/* Calls done on the sync thread after a round that covers everything queued up to now; at once with
 * -ECANCELED when the thread has stopped. */
void durability_after_round(struct retriever *retriever, object_done_fn done, void *arg);

/* This object now, for a client: data, record, the record's flush.  Blocks for the disk.  A normal
 * object must have a descriptor (object_keep_fd).  0, -ENOSPC when the record doesn't fit, -errno:
 * also for what was lost before. */
int durability_sync(struct object *object);
/* The whole file system.  0 or -errno. */
int durability_sync_all(struct retriever *retriever);
/* The same on another thread; a record that doesn't fit has its smallest gaps fetched first. */
void durability_sync_later(struct object *object, object_done_fn done, void *arg);
/* The same for a reader: he is not told of what was lost before, nor waits for the record's flush.
 */
void durability_settle_later(struct object *object, object_done_fn done, void *arg);
/* Makes room in the record for one more bracket (object_has_room()): by making durable what is
 * here, else by fetching its smallest gaps, which waits for the old server. */
void durability_make_room(struct object *object, object_done_fn done, void *arg);

#endif
