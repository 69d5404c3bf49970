/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gate limits how much the old server is asked at once.  All requests pass it on their way to
 * the backend.
 *
 * Background requests wait while the administrator has paused them, and for limits of bytes and of
 * requests a second (token buckets of one second), and for a window (yield.h); those of lists
 * (trace_id.first) in front.  Requests of demand
 * and read-ahead wait only while GATE_FOREGROUND of them are under way, those of demand in front:
 * more would make nothing faster, and the backend cannot give a request back while the old server
 * does not answer.
 *
 * What the old server puts off (-EAGAIN) is asked again after pauses of 50 ms to 5 s, in which it
 * holds nothing here that others need, and completed with -EAGAIN when patience is at its end.
 */
#ifndef LIB_SOURCE_GATE_H
#define LIB_SOURCE_GATE_H

#include <errno.h>
#include <stdbool.h>

#include "lib/source/source.h"

struct cap;

/* In front of the backend, which stays the caller's and is closed after the gate. */
struct gate *gate_new(struct backend *backend, uint64_t bytes_per_second);
/* From now on everything is completed with -ECANCELED, what is held too, and nothing reaches the
 * backend any more. */
void gate_close(struct gate *gate);
void gate_free(struct gate *gate);

/*
 * Submits now or later.  Any thread.  Of files' bytes that come with BACKEND_XATTRS (count) only so
 * many are on their way at a time, GATE_CARRIED at most: the submitter calls gate_carried() when it
 * does not keep them any more, before it submits req again.
 */
#define GATE_CARRIED ((uint64_t)16 << 20)
void gate_submit(struct gate *gate, struct backend_request *req);
void gate_carried(struct gate *gate, struct backend_request *req);

/* So often is asked again what is put off, within 3 s if the old server is quick, before it is
 * given up; half as often for a hurried request, and less in the background if that was in vain
 * before. */
#define GATE_PATIENCE	    6
#define GATE_PATIENCE_GRACE 40 /* three minutes: NFS servers have 90 s */

/* How many demand and read-ahead requests the backend has at most. */
#define GATE_FOREGROUND 512

/* Those of the held and of the pausing requests that match are completed with GATE_WITHDRAWN,
 * before this returns. match is called with the gate's lock held.  Any thread, without locks. */
#define GATE_WITHDRAWN (-EINTR)
void gate_withdraw(struct gate *gate,
		   bool (*match)(const struct backend_request *req, const void *arg),
		   const void *arg);

/* Those of the held that match come before the rest of the background from now on.  As
 * gate_withdraw(), but with any locks. */
void gate_hurry(struct gate *gate,
		bool (*match)(const struct backend_request *req, const void *arg), const void *arg);

/* Submits and waits.  Never on the main thread or a thread of the backend.  Returns req->status. */
int gate_call(struct gate *gate, struct backend_request *req);

void gate_pause(struct gate *gate, bool pause);
bool gate_paused(struct gate *gate);
void gate_throttle(struct gate *gate, uint64_t bytes_per_second); /* 0: no limit */
uint64_t gate_bandwidth(struct gate *gate);
/* Of the background: listings, attributes and reads alike. */
void gate_limit_requests(struct gate *gate, unsigned per_second); /* 0: no limit */
unsigned gate_requests(struct gate *gate);
/* Whether clients wait, if any do, for nothing but what the old server puts off: then the
 * background is in nobody's way. */
bool gate_demand_is_put_off(struct gate *gate);
/* How many requests pause. */
unsigned gate_pausing(struct gate *gate);
/* How many of the background have passed so far. */
uint64_t gate_passed(struct gate *gate);

/* The background yields when answers take longer than at best, by so many milliseconds (yield.h);
 * 0, as at first: it does not. */
void gate_yield(struct gate *gate, unsigned target_ms);
struct gate_yielding {
	unsigned target_ms, delay_ms; /* delay: of the last answers */
	unsigned window, under_way;   /* background requests */
};
struct gate_yielding gate_yielding(struct gate *gate);
/* The background passes a cap that other processes share, too (cap.h), and whose limits these are.
 * It stays the caller's, and is closed after the gate. */
void gate_share(struct gate *gate, struct cap *cap, uint64_t bandwidth, unsigned requests);

#endif
