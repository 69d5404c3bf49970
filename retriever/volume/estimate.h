/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long the rest of a migration takes, and how sure that is.  No locks: one thread.
 *
 * What the background brings is counted in windows of ESTIMATE_WINDOW seconds of work: time in
 * which it pauses, or the old server is away, is none.  Files and bytes are limits of their own, as
 * small files cost their names and large ones their bytes: of the rest each takes as long as it
 * took, and the longer of both counts.  The last windows, in groups, say how much that changes: the
 * range is what all but the best and the worst fifth of the groups would have needed.
 */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define ESTIMATE_WINDOW 15 /* s */

struct estimate;

struct estimate *estimate_new(void);
void estimate_free(struct estimate *estimate);

/* So much came in so many seconds of work, since the last call.  Negative numbers, of a counter
 * that was set back, are 0. */
void estimate_add(struct estimate *estimate, double seconds, int64_t files, int64_t bytes);
/* Bytes a second, while it worked; 0: not known. */
double estimate_bandwidth(const struct estimate *estimate);

struct estimate_time {
	int64_t seconds, low, high; /* of work; as clocks go, after estimate_stretch() */
	const char *reason;	    /* why it cannot be told, else NULL; static */
};

/* For the rest. */
struct estimate_time estimate_tell(const struct estimate *estimate, int64_t files, int64_t bytes);

/* The part of the full rate, 0 to 1, at that time; *until: when there is another one, or 0. */
typedef double (*estimate_speed_fn)(void *arg, time_t when, time_t *until);
/* When work that begins at `now` and takes so many seconds at the full rate will have been done, in
 * seconds from now; -1: not within a year. */
int64_t estimate_stretch(int64_t seconds, time_t now, estimate_speed_fn speed, void *arg);

#endif
