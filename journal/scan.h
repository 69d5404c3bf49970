/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looks for what was changed while nobody watched: a walk of the whole tree, bit by bit, between
 * other work of the thread.  What cannot be looked at is counted, and its directory may have been
 * changed; the rest is looked at.
 *
 * First every row is compared with what is there now, because names and removals may have changed,
 * and a power cut may have taken back what was noticed.  Then the tree: whatever has a ctime of the
 * gap may have been changed.  Beside that, a file whose mtime is not before the switch has other
 * bytes: what is written through a mapping is not told.  Directories are visited by handle, so that
 * renames lead nowhere else; one that is moved meanwhile is told by an event (scan_moved()), and is
 * visited once or twice more, however often it is moved.  Below a directory that was out of the
 * volume for a while everything may have been changed, whatever its ctime: JOURNAL_RETURNED stays
 * in its row until a scan has come to its end that could look at all of that.
 */
#ifndef JOURNAL_SCAN_H
#define JOURNAL_SCAN_H

#include "journal/volume.h"

struct scan;

/* Times: CLOCK_REALTIME, ns.  changed: ctimes from it on count; INT64_MAX: none; written: mtimes.
 */
struct scan *scan_new(struct volume *volume, struct journal_store *store, int64_t changed,
		      int64_t written);
void scan_free(struct scan *scan);

enum scan_result {
	SCAN_MORE,
	SCAN_DONE,
	SCAN_FAILED, /* nothing can be read now.  *error: one line; to be tried again from the start
		      */
};
/* Goes on for about that long.  Blocks for the disk. */
enum scan_result scan_step(struct scan *scan, int64_t microseconds, GError **error);
/* Visits that directory too.  whole: all below it counts, and JOURNAL_RETURNED is in its row. */
void scan_moved(struct scan *scan, const struct migrate_binding *dir, bool whole);
/* It came back once more: that is the next scan's. */
void scan_returned(struct scan *scan, const struct migrate_binding *dir);
/* After SCAN_DONE, in the transaction that says so, which has all events up to then.  false:
 * directories were moved meanwhile, or rows are to be compared once more, and scan_step() has to go
 * on. */
bool scan_end(struct scan *scan);
uint64_t scan_looked_at(const struct scan *scan);
/* How many objects could not be looked at.  *first: the path of one, as long as the scan, or NULL.
 */
uint64_t scan_unread(const struct scan *scan, const char **first);

#endif
