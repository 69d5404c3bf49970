/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of which it is known that they are being written: until that is taken, the kernel need not
 * tell of each further write, which costs the writer 2 us and more.  Of one half of watch.c's:
 * what a file was muted for is in the half that is filled, and before that is taken all are heard
 * again, so that nothing is missed of what comes after.
 *
 * Writes alone are left out (FAN_MODIFY).  Where the kernel has no marks for it (before 6.0)
 * nothing is.  The caller's lock is held.
 */
#ifndef JOURNAL_MUTES_H
#define JOURNAL_MUTES_H

#include <stdbool.h>
#include <sys/fanotify.h>

/* How often a half must have been told the same before. */
#define MUTES_AFTER 1

struct mutes {
	int fan;	/* the group */
	int root;	/* in the file system; the caller's */
	unsigned count; /* of files */
	bool closed;	/* a half is about to be taken */
	bool unable;
};

/* The event has come again and again.  Does nothing where that cannot be. */
void mutes_add(struct mutes *mutes, const struct fanotify_event_metadata *bytes);
/* From its return on all are heard, and none is added before mutes_open(). */
void mutes_close(struct mutes *mutes);
void mutes_open(struct mutes *mutes);

#endif
