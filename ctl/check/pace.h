/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No more than so many requests a second.  Any thread. */
#ifndef CTL_CHECK_PACE_H
#define CTL_CHECK_PACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t rate; /* a second; 0: as many as there are */
	GMutex lock;
	GCond stopped;
	gint64 next; /* g_get_monotonic_time(): when the next one may go */
	uint64_t count;
	bool stop;
};

void pace_init(struct pace *pace, uint64_t rate);
void pace_clear(struct pace *pace);
/* Waits for its turn.  FALSE: it was stopped. */
bool pace_wait(struct pace *pace);
/* One that goes at once, since nobody can wait here: those after it wait longer. */
void pace_count(struct pace *pace);
/* Nobody waits any more. */
void pace_stop(struct pace *pace);
uint64_t pace_requests(struct pace *pace);

#endif
