/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cap of background requests for an old server, shared by the retrievers of all its volumes,
 * which are processes of their own.
 *
 * They share a file of a few numbers, mapped, without a lock: at what time the server is free again
 * at the rate of the cap (a leaky bucket as a clock: ITU-T I.371, the generic cell rate algorithm),
 * and until when each process counts as one that waits.  Whoever may go on moves the clock ahead by
 * what it asks for.  While others wait it takes no more than its share of the rate, so that all of
 * them get equally much, and those that want less leave it to the others.
 *
 * A process that is killed holds nothing: its place in the file is a lock of the kernel's on one
 * byte, and 0.2 s later it does not count any more.  A number that cannot be is taken for the
 * present.
 */
#ifndef LIB_SOURCE_CAP_H
#define LIB_SOURCE_CAP_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct cap;

/* The file is made, or made anew where it is damaged.  NULL with error set, one line. */
struct cap *cap_open(const char *path, GError **error);
void cap_close(struct cap *cap); /* may be NULL */

/* Bytes and requests a second; 0: no limit.  One thread at a time with cap_take(). */
void cap_limit(struct cap *cap, uint64_t bandwidth, unsigned requests);
/* Whether a request for so many bytes may pass now; then it counts.  Else this process waits, and
 * asks again within CAP_WAIT_MS.  Never blocks. */
#define CAP_WAIT_MS 200
bool cap_take(struct cap *cap, uint64_t bytes);
/* Bytes that were taken, and did not come.  Likewise. */
void cap_give_back(struct cap *cap, uint64_t bytes);
/* The limits, and how many processes wait now.  Any thread. */
uint64_t cap_bandwidth(struct cap *cap);
unsigned cap_requests(struct cap *cap);
unsigned cap_waiting(struct cap *cap);

#endif
