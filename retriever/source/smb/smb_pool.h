/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What connections of one kind share: requests that wait, by priority.  Each takes its part of
 * them, so that all have work, and sleeps where there is nothing to take.  The rest of a listing is
 * bound to the connection that began it.
 *
 * What was under way when a worker crashed is suspect (backend_data: how often): each is tried
 * alone on its connection, so that it is found out which of them makes workers crash.  A listing
 * that is interrupted begins anew, as requests that know nothing of that: how often is kept here,
 * by its path.
 *
 * Everything may be called from any thread, except as said.
 */
#ifndef SMB_POOL_H
#define SMB_POOL_H

#include "source/source.h"

#define SMB_POOL_MAX 16

/* A connection's place in its pool. */
struct smb_seat {
	struct smb_pool *pool;
	unsigned index;
	int kick; /* eventfd: there is something to take, or the pool has stopped */
	/* the pool's lock */
	GQueue bound;
	bool asleep; /* with room for a request */
	bool alone;  /* a suspect is under way, and nothing else may be */
};

struct smb_pool {
	pthread_mutex_t lock; /* guards what follows, but for the constants */
	GQueue queue[BACKEND_BACKGROUND + 1], suspects;
	GHashTable *crashes; /* of listings */
	bool stop;
	bool background; /* constant; tells listings of one pool from those of another, too */
	unsigned window; /* requests under way on one connection; constant */
	unsigned n;	 /* grows before requests come, and then is constant */
	struct smb_seat *seats[SMB_POOL_MAX];
};

void smb_pool_init(struct smb_pool *pool, bool background, unsigned window);
/* Nobody is in it any more. */
void smb_pool_clear(struct smb_pool *pool);

/* One more connection; FALSE: no descriptor to be had.  The last one may be taken back. */
bool smb_pool_join(struct smb_pool *pool, struct smb_seat *seat);
void smb_pool_leave(struct smb_seat *seat);

/* FALSE: the pool has stopped, and req stays the caller's. */
bool smb_pool_submit(struct smb_pool *pool, struct backend_request *req);
/*
 * Moves to out what this connection is to do, by the requests' links: `room` requests at most, and
 * no more when their READs come to `bytes`.  Nothing is under way where that is the whole window.
 * Where it could take more it is woken when there is more.
 */
void smb_pool_take(struct smb_seat *seat, unsigned room, uint64_t bytes, GQueue *out);
/* A listing is at its end, or is given up. */
void smb_pool_listed(struct smb_pool *pool, const struct backend_request *req);
/* What was taken and is not done: it comes first again, in this order.  Empties requests. */
void smb_pool_give_back(struct smb_seat *seat, GQueue *requests);

/* Which connection's listing a READDIR goes on with (backend_request.verf); generation: of that. */
uint64_t smb_pool_verf(const struct smb_seat *seat, uint32_t generation);
/* Whether req goes on with a listing that is open on a connection of this pool. */
bool smb_pool_lists(const struct smb_pool *pool, const struct backend_request *req);

/* Wakes all, for good. */
void smb_pool_stop(struct smb_pool *pool);
bool smb_pool_stopped(struct smb_pool *pool);
/* Moves to out what is left when nobody takes any more. */
void smb_pool_drain(struct smb_pool *pool, GQueue *out);

#endif
