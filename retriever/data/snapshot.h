/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Notes, before a sync, which ranges of a file are in the page cache and missing by its record, so
 * that only these ranges leave the record after the sync (durability.h).
 *
 * A successful sync alone is not enough: ext4 reports no error when it drops data for which it
 * cannot allocate blocks.  So the ranges that had to be written must have blocks after the sync:
 * fetched ranges, except their zeros, and ranges that clients wrote, unless clients make holes
 * there (object_may_have_holes()).
 */
#ifndef RETRIEVER_DATA_SNAPSHOT_H
#define RETRIEVER_DATA_SNAPSHOT_H

#include "retriever/objects/object.h"

struct snapshot {
	struct object *object; /* the caller's reference */
	struct migrate_extents ranges;
	unsigned version, lost_writes;
};

/* Takes a snapshot of a file.  Takes the object's lock.  The caller clears the snapshot in any
 * case.  0, or -ENOMEM: it is empty. */
int snapshot_take(struct snapshot *s, struct object *object);
void snapshot_clear(struct snapshot *s);

/* Checks for blocks after a sync that succeeded.  Takes the object's lock.  0; -EIO: a range has no
 * blocks; or -ENOMEM. */
int snapshot_check(struct snapshot *s);

/* Lock held; the snapshot is durable.  Shrinks the sets in memory, unless the synced bytes are not
 * the file's content any more (retry), or were lost.  0, or -ENOMEM: nothing has changed. */
int snapshot_apply(struct snapshot *s);

#endif
