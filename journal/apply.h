/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events become rows.
 *
 * The kernel makes one event of several that are alike and still wait, and puts it where the first
 * of them was: of a -> b, b -> a, a -> b it tells two.  So the order of events does not say which
 * names an object has in the end.  What it does say is which of them it had first.  Whether it has
 * them now is looked up, when a batch is over.  That is remembered until every event of before that
 * moment is known to have been applied.
 *
 * The kernel tells one name of a file, which may be of another tree, or of .migrate/aside.  A file
 * that has no other name is not in the volume.  Any other file gets a row: it may have been
 * changed.  Nobody watches what goes on in other trees; so what comes back from one counts as
 * changed, and below a directory everything does, which a scan has to find (JOURNAL_RETURNED).
 *
 * Of a mapping, and AIO, the closing alone is told, and the mtime tells whether something was
 * written.  It can be set back; that is told as a change of attributes, before the closing or after
 * it.  So a file whose attributes were changed counts as written when it is closed, and one that
 * was closed when they are, until every event of before that look is known to have been applied.
 */
#ifndef JOURNAL_APPLY_H
#define JOURNAL_APPLY_H

#include "journal/scan.h"
#include "journal/store/events.h"
#include "journal/watch.h"

struct apply;

/* since: CLOCK_REALTIME, ns, of the switch. */
struct apply *apply_new(struct volume *volume, struct journal_store *store, int64_t since);
void apply_free(struct apply *apply);
/* scan: under way, or NULL.  Returns how many events made no sense: then there is a gap. */
unsigned apply_batch(struct apply *apply, const struct watched *watched, struct scan *scan);
/* The commit failed: nothing of what was applied since the last one is there. */
void apply_abort(struct apply *apply);

#endif
