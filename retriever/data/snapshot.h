/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a file has in the page cache and its record counts as missing, noted before a sync, so that
 * nothing else leaves the record after it (durability.h).
 *
 * A sync that succeeds is not believed alone: ext4 says nothing where it drops data for which it
 * cannot allocate blocks.  So what was to be written must have blocks after it: what was fetched,
 * but for its zeros, and what clients wrote, unless they make holes (MIGRATE_REC_HOLES).
 */
#ifndef RETRIEVER_DATA_SNAPSHOT_H
#define RETRIEVER_DATA_SNAPSHOT_H

#include "retriever/objects/object.h"

struct snapshot {
	struct object *object; /* the caller's reference */
	struct migrate_extents ranges;
	unsigned version, lost_writes;
};

/* Of a file.  Takes the object's lock.  To be cleared in any case.  0, or -ENOMEM: it is empty. */
int snapshot_take(struct snapshot *s, struct object *object);
void snapshot_clear(struct snapshot *s);

/* After a sync that succeeded.  Takes the object's lock.  0, -EIO: something has no blocks, or
 * -ENOMEM. */
int snapshot_check(struct snapshot *s);

/* Lock held; the snapshot is durable.  Shrinks the sets in memory, unless what was synced is not
 * the file's content any more (retry), or was lost.  0, or -ENOMEM: nothing has changed. */
int snapshot_apply(struct snapshot *s);

#endif
