/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What connections of one kind share: requests that wait, by priority.  Each takes its part of
 * them, so that all have work, and sleeps where there is nothing to take.  The rest of a listing is
 * bound to the connection that began it.
 *
 * Everything may be called from any thread, except as said.
 */
#ifndef LIB_SOURCE_SMB_SMB_POOL_H
#define LIB_SOURCE_SMB_SMB_POOL_H

#include <stdatomic.h>

#include "lib/source/source.h"

#define SMB_POOL_MAX 16

/* SMB_TRIAL: its connection has one request at a time, which ended another one (suspects.h). */
enum smb_pool_kind { SMB_DEMAND, SMB_OTHERS, SMB_TRIAL, SMB_POOLS };

/* A connection's place in its pool. */
struct smb_seat {
	struct smb_pool *pool;
	unsigned index;
	int kick;   /* eventfd: there is something to take, or the pool has stopped */
	bool spare; /* connected only while it is needed (smb_conn.c); constant */
	/* the pool's lock */
	GQueue bound;
	unsigned turns;
	bool ready;    /* connected */
	bool asleep;   /* with room for a request */
	unsigned busy; /* requests under way when it fell asleep */
};

struct smb_pool {
	pthread_mutex_t lock; /* guards what follows, but for the constants */
	GQueue queue[BACKEND_BACKGROUND + 1];
	bool stop;
	gint64 wanted;		 /* its spares, so long; monotonic us */
	enum smb_pool_kind kind; /* constant; tells listings of one pool from those of another */
	unsigned window;	 /* requests under way on one connection at most; constant */
	atomic_uint answers;	 /* since a connection was lost */
	unsigned n;		 /* grows before requests come, and then is constant */
	struct smb_seat *seats[SMB_POOL_MAX];
};

/* Of one that is not tried. */
static inline enum smb_pool_kind smb_pool_of(const struct backend_request *req)
{
	return req->priority == BACKEND_DEMAND ? SMB_DEMAND : SMB_OTHERS;
}

void smb_pool_init(struct smb_pool *pool, enum smb_pool_kind kind, unsigned window);
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
 * What was under way when a connection ended (`breaks`) comes alone.
 * Where it could take more it is woken when there is more.
 */
void smb_pool_take(struct smb_seat *seat, unsigned room, uint64_t bytes, GQueue *out);
/* A request was answered; a connection was lost with requests under way: what ended it may be asked
 * for again, or have its like behind it.  So at first only one is under way on each, then more. */
void smb_pool_answered(struct smb_pool *pool);
void smb_pool_lost(struct smb_pool *pool);
/* How many may be under way on each now. */
unsigned smb_pool_width(struct smb_pool *pool);
/* FALSE: there is nothing to take, and the connection is woken when there is. */
bool smb_pool_has_work(struct smb_seat *seat);
/* The rest of a listing waits, which no other connection takes. */
bool smb_pool_has_bound(struct smb_seat *seat);
/* Its connection is there, or not any more: then others take what it was woken for. */
void smb_pool_ready(struct smb_seat *seat, bool ready);
/* Its spares are to be connected, for 30 s. */
void smb_pool_want(struct smb_pool *pool);
bool smb_pool_wanted(struct smb_pool *pool);
bool smb_pool_has_ready(struct smb_pool *pool);
/* Requests wait for which clients do. */
bool smb_pool_starves(struct smb_pool *pool);
/* What was taken and is not done: it comes first again, in this order.  Empties requests. */
void smb_pool_give_back(struct smb_seat *seat, GQueue *requests);

/* Which connection's listing a READDIR goes on with (backend_request.verf); generation: of that. */
uint64_t smb_pool_verf(const struct smb_seat *seat, uint32_t generation);
/* Whether req goes on with a listing that is open on a connection of this pool. */
bool smb_pool_lists(const struct smb_pool *pool, const struct backend_request *req);

/* Wakes all, for good. */
void smb_pool_stop(struct smb_pool *pool);
bool smb_pool_stopped(struct smb_pool *pool);
/* Moves to out all that waits. */
void smb_pool_drain(struct smb_pool *pool, GQueue *out);

#endif
