/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many background requests may be under way, so that those who use the old server feel little
 * of them: the window of LEDBAT (RFC 6817, sections 2.4.2 and 2.5), in requests instead of bytes.
 *
 * The least time that an answer took in the last ten minutes is what the server needs when it has
 * nothing else to do; what answers take beyond that is waiting, whoever causes it.  The window
 * grows by one for each round of answers that wait less than the target, and shrinks the faster the
 * longer they wait, by half a round at most, never below YIELD_FLOOR, so that there is always
 * progress. Answers are compared with those of their kind alone: a listing takes longer than an
 * attribute, and a long read longer than a short one.  Demand is measured, and never held.
 */
#ifndef LIB_SOURCE_YIELD_H
#define LIB_SOURCE_YIELD_H

#include "lib/source/source.h"

#define YIELD_FLOOR 2
#define YIELD_START 16
#define YIELD_MAX   4096 /* more than backends have under way */

enum { YIELD_KINDS = 24, YIELD_MINUTES = 10, YIELD_FILTER = 4 };

struct yield {
	gint64 target; /* microseconds; 0: nothing is measured, and the window is YIELD_MAX */
	double window;
	bool starting; /* nothing has waited yet: it grows by one for each answer */
	gint64 delay;  /* what was measured last, microseconds */
	struct yield_kind {
		gint64 least[YIELD_MINUTES]; /* of each minute; 0: none */
		gint64 minute;		     /* that of least[minute % YIELD_MINUTES] */
		gint64 last[YIELD_FILTER];
		unsigned n;
	} kinds[YIELD_KINDS];
};

void yield_init(struct yield *yield, unsigned target_ms);
/* An answer that took so long, in microseconds, at the time now (likewise), when so many background
 * requests were under way: a window that is not used does not grow.  Failures, and what was asked
 * for again because a connection ended, say nothing of the server's speed, and are left out. */
void yield_answer(struct yield *yield, const struct backend_request *req, unsigned under_way,
		  gint64 took, gint64 now);
/* The window: at least YIELD_FLOOR. */
unsigned yield_window(const struct yield *yield);

#endif
