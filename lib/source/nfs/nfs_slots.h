/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calls under way on one connection.  A call is known by its slot, which its xid holds, so that
 * a reply finds it without a search, and a late one of a slot's call before it is seen to be late.
 * One thread.
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

/* No call is under way.  sequence: xids begin anywhere. */
void nfs_slots_init(struct nfs_slots *slots, uint32_t sequence);
/* A slot for the request, with an xid; there must be a free one (in_flight).  The lowest numbers
 * are taken first after nfs_slots_reset(), so that none is above the window: sessions count on
 * that. */
unsigned nfs_slots_add(struct nfs_slots *slots, struct backend_request *req);
/* Whose reply has that xid; -1: nobody's (any more). */
int nfs_slots_find(const struct nfs_slots *slots, uint32_t xid);
/* Frees the slot; its request. */
struct backend_request *nfs_slots_take(struct nfs_slots *slots, unsigned index);
/* When the oldest call was sent; `now` without one. */
gint64 nfs_slots_oldest(const struct nfs_slots *slots, gint64 now);
/* Takes all: the requests go to the head of a queue by their links, the oldest first; `except` is
 * dropped. */
void nfs_slots_reset(struct nfs_slots *slots, GQueue *queue, const struct backend_request *except);

#endif
