/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gate that requests pass on their way to the backend.
 *
 * Background: pause, caps of bytes and of requests (token buckets of one second), and a window
 * (yield.h).  Demand and
 * read-ahead are held only while GATE_FOREGROUND of them are under way, demand in front: more would
 * make nothing faster, and what the backend has cannot be taken back while the old server does not
 * answer.
 */
#ifndef GATE_H
#define GATE_H

#include <errno.h>
#include <stdbool.h>

#include "source.h"

struct cap;
struct gate;

/* In front of the backend, which stays the caller's and is closed after the gate. */
struct gate *gate_new(struct backend *backend, uint64_t bytes_per_second);
/* From now on everything is completed with -ECANCELED, what is held too, and nothing reaches the
 * backend any more. */
void gate_close(struct gate *gate);
void gate_free(struct gate *gate);

/*
 * Submits now or later.  Any thread.  Of files' bytes that come with BACKEND_XATTRS (count) only so
 * many are on their way at a time, GATE_CARRIED at most: the submitter calls gate_carried() with
 * that count when it does not keep them any more.
 */
#define GATE_CARRIED ((uint64_t)16 << 20)
void gate_submit(struct gate *gate, struct backend_request *req);

/* How many demand and read-ahead requests the backend has at most. */
#define GATE_FOREGROUND 512

/* Those of the held requests that match are completed with GATE_WITHDRAWN, before this returns.
 * match is called with the gate's lock held.  Any thread, without locks. */
#define GATE_WITHDRAWN (-EINTR)
void gate_withdraw(struct gate *gate,
		   bool (*match)(const struct backend_request *req, const void *arg),
		   const void *arg);

/* Submits and waits.  Never on the main thread or a thread of the backend.  Returns req->status. */
int gate_call(struct gate *gate, struct backend_request *req);

void gate_carried(struct gate *gate, uint32_t count);

void gate_pause(struct gate *gate, bool pause);
bool gate_paused(struct gate *gate);
void gate_throttle(struct gate *gate, uint64_t bytes_per_second); /* 0: no limit */
uint64_t gate_bandwidth(struct gate *gate);
/* Of the background: listings, attributes and reads alike. */
void gate_limit_requests(struct gate *gate, unsigned per_second); /* 0: no limit */
unsigned gate_requests(struct gate *gate);
/* How many have passed so far. */
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
