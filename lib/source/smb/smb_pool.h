/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requests that wait for one of several SMB connections, by priority.  Each connection takes a
 * part of the requests, so that all connections have work, and sleeps when there is nothing to
 * take.  The rest of a listing waits for the connection that began the listing.
 *
 * Every function may be called from any thread, unless it says otherwise.
 */
#ifndef LIB_SOURCE_SMB_SMB_POOL_H
#define LIB_SOURCE_SMB_SMB_POOL_H

#include <stdatomic.h>

#include "lib/source/source.h"

#define SMB_POOL_MAX 16

/* SMB_TRIAL: its connection has one request at a time, one that ended another connection
 * (suspects.h). */
enum smb_pool_kind { SMB_DEMAND, SMB_OTHERS, SMB_TRIAL, SMB_POOLS };

/* A connection's place in its pool. */
struct smb_seat {
	struct smb_pool *pool;
	unsigned index;
	int kick;   /* eventfd: there is something to take, or the pool has stopped */
	bool spare; /* connected only while it is needed (smb_conn.c); constant */
	/* the rest is under the pool's lock */
	GQueue bound;
	unsigned turns;
	bool ready;    /* connected */
	bool asleep;   /* has room for a request, and waits for a kick */
	unsigned busy; /* requests under way when it fell asleep */
};

struct smb_pool {
	pthread_mutex_t lock; /* guards what follows, except the constants */
	GQueue queue[BACKEND_BACKGROUND + 1];
	bool stop;
	gint64 wanted;		 /* until when its spares are wanted; monotonic us */
	enum smb_pool_kind kind; /* constant; tells listings of one pool from those of another */
	unsigned window;	 /* requests under way on one connection at most; constant */
	atomic_uint answers;	 /* how many came since a connection was lost */
	unsigned n; /* number of seats: grows before requests come, and is constant then */
	struct smb_seat *seats[SMB_POOL_MAX];
};

/* The pool of a request that is not a trial. */
static inline enum smb_pool_kind smb_pool_of(const struct backend_request *req)
{
	return req->priority == BACKEND_DEMAND ? SMB_DEMAND : SMB_OTHERS;
}

void smb_pool_init(struct smb_pool *pool, enum smb_pool_kind kind, unsigned window);
/* No connection may be in the pool any more. */
void smb_pool_clear(struct smb_pool *pool);

/* join adds one more connection; FALSE: no descriptor is left.  leave takes the last one out
 * again. */
bool smb_pool_join(struct smb_pool *pool, struct smb_seat *seat);
void smb_pool_leave(struct smb_seat *seat);

/* FALSE: the pool has stopped, and req stays the caller's. */
bool smb_pool_submit(struct smb_pool *pool, struct backend_request *req);
/*
 * Moves the requests that this connection is to make to out, by their links: at most `room`, and no
 * more once their READs come to `bytes`.  Nothing is under way on the connection if `room` is the
 * whole window.  A request that was under way when a connection ended (`breaks`) is given out
 * alone.  A connection that has room left is woken when more requests come.
 */
void smb_pool_take(struct smb_seat *seat, unsigned room, uint64_t bytes, GQueue *out);
/* To be called when a request was answered, and when a connection was lost with requests under way.
 * The request that ended the connection may be made again, or similar ones may wait behind it: so
 * each connection has only one request under way at first, then more. */
void smb_pool_answered(struct smb_pool *pool);
void smb_pool_lost(struct smb_pool *pool);
/* How many requests may be under way on each connection now. */
unsigned smb_pool_width(struct smb_pool *pool);
/* FALSE: there is nothing to take, and the connection is woken when there is. */
bool smb_pool_has_work(struct smb_seat *seat);
/* Whether the rest of a listing waits for this connection, which alone may take it. */
bool smb_pool_has_bound(struct smb_seat *seat);
/* The seat's connection is there (ready), or not any more: then other connections take the requests
 * for which it was woken. */
void smb_pool_ready(struct smb_seat *seat, bool ready);
/* The pool's spares are to be connected for the next 30 s. */
void smb_pool_want(struct smb_pool *pool);
bool smb_pool_wanted(struct smb_pool *pool);
bool smb_pool_has_ready(struct smb_pool *pool);
/* Whether requests wait for which clients wait. */
bool smb_pool_starves(struct smb_pool *pool);
/* Gives back requests that were taken and not answered: they come first again, in this order.
 * Empties requests. */
void smb_pool_give_back(struct smb_seat *seat, GQueue *requests);

/* The verifier (backend_request.verf) by which a READDIR goes on with this connection's listing;
 * generation: of the connection's worker. */
uint64_t smb_pool_verf(const struct smb_seat *seat, uint32_t generation);
/* Whether req goes on with a listing that is open on a connection of this pool. */
bool smb_pool_lists(const struct smb_pool *pool, const struct backend_request *req);

/* Stops the pool, for good, and wakes all its connections. */
void smb_pool_stop(struct smb_pool *pool);
bool smb_pool_stopped(struct smb_pool *pool);
/* Moves to out all that waits. */
void smb_pool_drain(struct smb_pool *pool, GQueue *out);

#endif
