/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/nfs/nfs_slots.h"

#define INDEX_BITS 10

G_STATIC_ASSERT(NFS_SLOTS == 1 << INDEX_BITS);

static void free_all(struct nfs_slots *slots)
{
	for (unsigned i = 0; i < NFS_SLOTS; i++)
		slots->free[i] = (uint16_t)(NFS_SLOTS - 1 - i);
	slots->n_free = NFS_SLOTS;
}

void nfs_slots_init(struct nfs_slots *slots, uint32_t sequence)
{
	memset(slots, 0, sizeof(*slots));
	slots->sequence = sequence;
	free_all(slots);
}

unsigned nfs_slots_add(struct nfs_slots *slots, struct backend_request *req)
{
	unsigned index = slots->free[--slots->n_free];
	struct nfs_slot *slot = &slots->slots[index];

	*slot = (struct nfs_slot){
		.req = req,
		.xid = slots->sequence++ << INDEX_BITS | index,
		.bytes = req->op == BACKEND_READ ? MIN(req->count, NFS_READ_MAX) : 0,
		.sent = g_get_monotonic_time(),
	};
	slots->in_flight++;
	slots->bytes += slot->bytes;
	return index;
}

int nfs_slots_find(const struct nfs_slots *slots, uint32_t xid)
{
	const struct nfs_slot *slot = &slots->slots[xid % NFS_SLOTS];

	return slot->req && slot->xid == xid ? (int)(xid % NFS_SLOTS) : -1;
}

struct backend_request *nfs_slots_take(struct nfs_slots *slots, unsigned index)
{
	struct nfs_slot *slot = &slots->slots[index];
	struct backend_request *req = slot->req;

	slot->req = NULL;
	slots->free[slots->n_free++] = (uint16_t)index;
	slots->in_flight--;
	slots->bytes -= slot->bytes;
	return req;
}

gint64 nfs_slots_oldest(const struct nfs_slots *slots, gint64 now)
{
	gint64 oldest = now;

	for (unsigned i = 0; slots->in_flight > 0 && i < NFS_SLOTS; i++)
		if (slots->slots[i].req)
			oldest = MIN(oldest, slots->slots[i].sent);
	return oldest;
}

static int by_sequence(gconstpointer a, gconstpointer b, gpointer user)
{
	const struct nfs_slots *slots = user;
	uint32_t x = slots->slots[*(const uint16_t *)a].xid >> INDEX_BITS;
	uint32_t y = slots->slots[*(const uint16_t *)b].xid >> INDEX_BITS;
	/* Sequence numbers wrap at 22 bits. */
	int32_t order = (int32_t)((x - y) << INDEX_BITS);

	return order < 0 ? -1 : order > 0;
}

void nfs_slots_reset(struct nfs_slots *slots, GQueue *queue, const struct backend_request *except)
{
	uint16_t used[NFS_SLOTS];
	unsigned n = 0;

	for (unsigned i = 0; i < NFS_SLOTS; i++)
		if (slots->slots[i].req && slots->slots[i].req == except)
			nfs_slots_take(slots, i);
		else if (slots->slots[i].req)
			used[n++] = (uint16_t)i;
	g_qsort_with_data(used, (gint)n, sizeof(used[0]), by_sequence, slots);
	while (n-- > 0)
		g_queue_push_head_link(queue, &nfs_slots_take(slots, used[n])->link);
	free_all(slots);
}
