/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long the rest of a migration takes, and how sure that is.  No locks: one thread.
 *
 * What the background brings is counted in windows of ESTIMATE_WINDOW seconds of work: time in
 * which it pauses, or the old server is away, is none.  Files and bytes are limits of their own, as
 * small files cost their names and large ones their bytes: of the rest each takes as long as it
 * took, and the longer of both counts; files do not where none came, as within a large one.  The
 * last windows, in groups, say how much that changes: the range is what all but the best and the
 * worst fifth of the groups would have needed.
 */
#ifndef RETRIEVER_PROGRESS_ESTIMATE_H
#define RETRIEVER_PROGRESS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#define ESTIMATE_WINDOW 15 /* s */

struct estimate;

struct estimate *estimate_new(void);
void estimate_free(struct estimate *estimate);

/* So much came in so many seconds of work, since the last call.  Negative numbers, of a counter
 * that was set back, are 0. */
void estimate_add(struct estimate *estimate, double seconds, int64_t files, int64_t bytes,
		  int64_t requests);
/* Bytes and requests a second, while it worked; 0: not known. */
double estimate_bandwidth(const struct estimate *estimate);
double estimate_requests(const struct estimate *estimate);

struct estimate_time {
	int64_t seconds, low, high; /* of work; as clocks go, after limits_finish_time() */
	const char *reason;	    /* why it cannot be told, else NULL; static */
	const char *remedy;	    /* a command without the volume's name, or NULL; static */
};

/* For the rest. */
struct estimate_time estimate_tell(const struct estimate *estimate, int64_t files, int64_t bytes);

#endif
