/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One volume's journal at work: events into the store every two seconds, scans for gaps, and what
 * is said to readers.
 *
 * A gap begins at the moment up to which everything was seen, less MARGIN: a change may have its
 * ctime at its beginning and its event at its end.  It is in the store before the store is said to
 * be settled, and leaves it in the same transaction as the last row that the scan found.  These
 * begin one:
 *
 *   start      always: from what is durable on.  After a reboot from an hour before that, because
 *              the clock may have been wrong for a while
 *   clock      the time of day was set back while nobody watched
 *   overflow   the kernel's queue was full, because this process did not run, or the disk was slow
 *   no room    rows could not be stored
 *   unreadable an event made no sense
 *   moved in   a directory came back from another tree; while a scan is under way it is left to the
 *              next one, so that each scan ends
 *
 * What a scan cannot look at keeps the gap, for it and what is below it alone, which live.h says.
 * It is looked at again after an hour, or when somebody asks.
 *
 * When a volume is attached its journal begins anew: what happened in that directory before, in an
 * earlier migration or while the copy was made, is nobody's way back.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include <glib.h>
#include <stdbool.h>

struct journal;

/* All three are copied.  root: the volume's; store: the store's directory; socket: the retriever's.
 * was_attached: whether a migration of that root has begun, though it may be finished: where there
 * is no store by now, it was lost, and all may have been changed.
 * Everything that happens from its return on is in the journal.  NULL with *error, one line;
 * EBUSY: another one runs; ECANCELED: the way back was closed, there is nothing to do. */
struct journal *journal_new(const char *root, const char *store, const char *socket,
			    bool (*was_attached)(int root_fd), GError **error);
void journal_free(struct journal *journal);

/* What a loop does: waits up to so long for something to do, and does it.  false with *error: it is
 * over, and has to be started again. */
bool journal_work(struct journal *journal, int timeout_ms, GError **error);
/* For signal handlers: what live.h says of that signal. */
void journal_ask(struct journal *journal, int signal);
/* What is noticed so far becomes durable. */
bool journal_flush(struct journal *journal, GError **error);

#endif
