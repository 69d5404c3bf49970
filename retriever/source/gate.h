/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gate that background requests pass on their way to the backend: pause, and a bandwidth cap (a
 * token bucket of one second).  Demand and read-ahead are never held.
 */
#ifndef GATE_H
#define GATE_H

#include "source.h"

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
#define GATE_CARRIED ((uint64_t)32 << 20)
void gate_submit(struct gate *gate, struct backend_request *req);

/* Submits and waits.  Never on the main thread or a thread of the backend.  Returns req->status. */
int gate_call(struct gate *gate, struct backend_request *req);

void gate_carried(struct gate *gate, uint32_t count);

void gate_pause(struct gate *gate, bool pause);
bool gate_paused(struct gate *gate);
void gate_throttle(struct gate *gate, uint64_t bytes_per_second); /* 0: no limit */
uint64_t gate_bandwidth(struct gate *gate);

#endif
