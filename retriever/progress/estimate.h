/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimates how long the rest of a migration takes, and how certain that is.  No locks: one thread.
 *
 * The files and bytes that background work brings are counted in windows of ESTIMATE_WINDOW seconds
 * of work; time in which it pauses, or in which the old server is away, is not work.  Small files
 * cost time by their number and large files by their bytes, so two times are worked out, one from
 * the rate of files and one from the rate of bytes, and the longer one counts.  The rate of files
 * does not count where no file came, as within a large file.  The last windows, in groups, say how
 * much the rates change: the range is the time that the groups would have needed, without the best
 * and the worst fifth of them.
 */
#ifndef RETRIEVER_PROGRESS_ESTIMATE_H
#define RETRIEVER_PROGRESS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#define ESTIMATE_WINDOW 15 /* s */

struct estimate;

struct estimate *estimate_new(void);
void estimate_free(struct estimate *estimate);

/* Adds what came since the last call, in that many seconds of work.  Negative numbers, from a
 * counter that was set back, count as 0. */
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
