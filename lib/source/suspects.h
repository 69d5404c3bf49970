/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests at which connections to the old server end: it panics over the object, or its answer
 * makes the client's side end the connection, or neither answers any more.
 *
 * A connection that ends does not say which of those that were under way is to blame: all of them
 * are asked again.  What has been under way SUSPECT_ALONE times, or once where it is plain that the
 * server has no outage, is tried alone, on a connection that has nothing else, so that nobody else
 * waits for it.  There a connection that ends counts only if a request of the same kind for another
 * object was answered on it just before: where that ends the connection too, the server has an
 * outage, and nothing is given up.  At SUSPECT_LIMIT the request fails (-EREMOTEIO with `why`).
 *
 * How often is kept in the request (`breaks`) and, by operation and object, beyond it: a listing
 * that is interrupted begins anew, and what failed may be asked for again, which is tried alone at
 * once, but not again and again (suspects_hold()).  Of SUSPECTS_MAX objects at most; others begin
 * at 0 again.
 *
 * Any thread.  A request is the caller's during a call.
 */
#ifndef LIB_SOURCE_SUSPECTS_H
#define LIB_SOURCE_SUSPECTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/source/source.h"

#define SUSPECT_ALONE 2
#define SUSPECT_LIMIT 4
#define SUSPECTS_MAX  1024
#define WITNESSES     4 /* of each kind */
#define SUSPECT_KINDS (BACKEND_XATTRS + 1)

/* A request that was answered. */
struct witness {
	struct source_object object;
	char *name; /* LOOKUP */
	uint64_t offset;
};

struct suspects {
	pthread_mutex_t lock; /* a leaf; guards what follows */
	GHashTable *breaks;   /* by object (GBytes): struct suspect */
	struct witness witnesses[SUSPECT_KINDS][WITNESSES];
	unsigned next[SUSPECT_KINDS];
	_Atomic gint64 noted[SUSPECT_KINDS]; /* when; without the lock */
	atomic_uint n;			     /* of breaks; without the lock */
};

void suspects_init(struct suspects *suspects);
void suspects_clear(struct suspects *suspects);

/* At submit: sets req->backend.breaks and req->backend.known. */
void suspects_recall(struct suspects *suspects, struct backend_request *req);
/* TRUE: it, or looking at its object, was given up since then (g_get_monotonic_time()), and is to
 * be failed at once; its `why` is set. */
bool suspects_hold(struct suspects *suspects, struct backend_request *req, gint64 since);
/* What was given up is tried again when it is asked for. */
void suspects_retry(struct suspects *suspects);
/* A connection ended under it, which counts for `count` (0: it was ended here); alone: on one that
 * had answered a witness, where it counts for 1 at most.  TRUE: the request is to be failed; its
 * `why` is set. */
bool suspects_break(struct suspects *suspects, struct backend_request *req, unsigned count,
		    bool alone);
/* With whatever status.  now: g_get_monotonic_time(). */
void suspects_answered(struct suspects *suspects, const struct backend_request *req, int status,
		       gint64 now);
/* A connection on which one request at a time is tried. */
struct trial {
	struct suspects *suspects;
	bool proved[SUSPECT_KINDS]; /* a request of this kind was answered */
	struct backend_request witness;
};
/* It is connected (anew). */
void trial_begin(struct trial *trial);
/* What is to be asked before req, ready to be submitted: of its kind, for another object, by
 * preference one that was answered, the root otherwise.  NULL: nothing.  It proves that by its
 * completion with anything but -ECANCELED. */
struct backend_request *trial_witness(struct trial *trial, const struct backend_request *req,
				      const struct source_object *root);

#endif
