/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calls under way on one connection.  The xid of a call holds the number of its slot, so that
 * its reply is found without a search, and a late reply to an earlier call of that slot is
 * recognized.  One thread.
 */
#ifndef LIB_SOURCE_NFS_NFS_SLOTS_H
#define LIB_SOURCE_NFS_NFS_SLOTS_H

#include "lib/source/nfs/nfs_proc.h"

#define NFS_SLOTS 1024

struct nfs_slot {
	struct backend_request *req; /* NULL: free */
	uint32_t xid;
	enum nfs_procedure procedure;
	uint32_t bytes;
	gint64 sent;
};

struct nfs_slots {
	struct nfs_slot slots[NFS_SLOTS];
	uint16_t free[NFS_SLOTS];
	unsigned n_free;
	uint32_t sequence;
	unsigned in_flight;
	uint64_t bytes; /* of data asked for and not yet here */
};

/* Initializes slots without a call under way.  sequence: where xids begin; any number. */
void nfs_slots_init(struct nfs_slots *slots, uint32_t sequence);
/* Gives the request a slot, with an xid; one must be free (in_flight).  After nfs_slots_reset() the
 * lowest numbers are taken first, so that no number is above the window: sessions count on that. */
unsigned nfs_slots_add(struct nfs_slots *slots, struct backend_request *req);
/* The slot whose call has that xid; -1: no call has it (any more). */
int nfs_slots_find(const struct nfs_slots *slots, uint32_t xid);
/* Frees the slot, and returns its request. */
struct backend_request *nfs_slots_take(struct nfs_slots *slots, unsigned index);
/* When the oldest call was sent; `now` without one. */
gint64 nfs_slots_oldest(const struct nfs_slots *slots, gint64 now);
/* Frees all slots: their requests go to the head of the queue by their links, the oldest first,
 * except `except`, which is dropped. */
void nfs_slots_reset(struct nfs_slots *slots, GQueue *queue, const struct backend_request *except);

#endif
