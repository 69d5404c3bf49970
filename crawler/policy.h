/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides what the crawler does next and how hard it works, without any input or output. */
#ifndef CRAWLER_POLICY_H
#define CRAWLER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* ---- window ---------------------------------------------------------------------------------- */

/* The window: how many directories may be under way.  It grows by one in every second in which no
 * client waited, and is halved in a second in which a client did; never less than 1. */
struct policy_window {
	unsigned size, max;
};
void policy_window_init(struct policy_window *window, unsigned max);
void policy_window_feedback(struct policy_window *window, bool clients_wait);

/* ---- passes ---------------------------------------------------------------------------------- */

enum policy_order { ORDER_NAMESPACE_FIRST, ORDER_DEPTH_FIRST, ORDER_RECENT_FIRST };
/* As an error says which there are. */
#define POLICY_ORDERS "namespace-first, depth-first or recent-first"
/* FALSE when text names no order. */
bool policy_order_parse(const char *text, enum policy_order *order);

enum policy_step {
	STEP_NAMES, /* a pass that fills directories without their data */
	/* the same, and data of files that were used in the last `days`; passes with more days
	 * follow as long as they would bring something, and then the rest */
	STEP_RECENT,
	STEP_DATA, /* a pass that moves data and finishes directories */
	STEP_DONE, /* the aim is reached */
	STEP_LEFT, /* something remains, and going on would not help */
};

struct policy {
	enum policy_order order;
	bool metadata_only;
	bool once;     /* no pass is repeated */
	unsigned days; /* result, of STEP_RECENT */
	/* private */
	bool started;
	enum policy_step step;
	unsigned idle;		 /* how many passes in a row brought nothing */
	uint64_t advanced, left; /* of the pass before */
};

/* What became of the last pass. */
struct policy_result {
	uint64_t advanced; /* directories that were filled or finished */
	uint64_t left;	   /* directories that were not */
	bool busy;	   /* some of these because of something that passes by itself */
	bool root_normal;
	unsigned days; /* of STEP_RECENT: how long ago the last use was of what is left out; 0: of
			  nothing that a longer time would bring */
};

/*
 * The next step.  result: of the last pass; NULL at first.  names_complete: every directory is
 * filled already.  *pause_ms: how long to wait before the step; it grows with every pass that
 * brought nothing.
 */
enum policy_step policy_next(struct policy *policy, const struct policy_result *result,
			     bool names_complete, unsigned *pause_ms);

/* ---- one directory --------------------------------------------------------------------------- */

/* How often a directory that is not ready ("again") is asked for in one pass, and how many
 * milliseconds to wait before an attempt; attempt: 1 for the first repetition. */
#define POLICY_ATTEMPTS 3
unsigned policy_attempt_pause(unsigned attempt);

#endif
