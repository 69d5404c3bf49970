/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events become rows.
 *
 * The kernel makes one event of several that are alike and still wait, and puts it where the first
 * of them was: of a -> b, b -> a, a -> b it tells two.  So the order of events does not say which
 * names an object has in the end.  What it does say is which of them it had first.  Whether it has
 * them now is looked up, when a batch is over.  That is remembered until every event of before that
 * moment is known to have been applied.
 */
#ifndef JOURNAL_APPLY_H
#define JOURNAL_APPLY_H

#include "store/events.h"
#include "scan.h"
#include "watch.h"

struct apply;

/* since: CLOCK_REALTIME, ns, of the switch. */
struct apply *apply_new(struct volume *volume, struct journal_store *store, int64_t since);
void apply_free(struct apply *apply);
/* scan: under way, or NULL.  Returns how many events made no sense: then there is a gap. */
unsigned apply_batch(struct apply *apply, const struct watched *watched, struct scan *scan);
/* The commit failed: nothing of what was applied since the last one is there. */
void apply_abort(struct apply *apply);

#endif
