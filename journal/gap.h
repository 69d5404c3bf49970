/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From when on changes may be missing: what the clocks say (journal.h has the reasons). */
#ifndef JOURNAL_GAP_H
#define JOURNAL_GAP_H

#include "journal/store/layout.h"

/* Changes since then (CLOCK_REALTIME, ns) may be missing. */
/* The clock was set back by so much; or, below 0, forward again. */
void gap_clock(struct journal_durable *state, int64_t by);
void gap_open(struct journal_durable *state, int64_t since, const char *reason);
/* A process starts: from what the last one saw on, by the clocks of now. */
void gap_start(struct journal_durable *state);
/* Everything until now is seen: CLOCK_REALTIME, CLOCK_BOOTTIME. */
void gap_seen(struct journal_durable *state, int64_t seen, int64_t boottime);
/* The ctime that a change in the gap has at least; INT64_MAX: there is no gap. */
int64_t gap_from(const struct journal_durable *state);
/* The gap is filled up to `later`: what happened since is the new gap; INT64_MAX: there is none. */
void gap_close(struct journal_durable *state, int64_t later);
/* What was before now does not matter any more. */
void gap_begin(struct journal_durable *state);
/* The clock was set back by so much.  Whether there is a gap. */
bool gap_lower(struct journal_durable *state, int64_t by);

#endif
