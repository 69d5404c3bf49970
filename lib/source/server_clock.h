/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether an old server's times are fine enough to tell two versions of an object apart.
 *
 * Many servers keep times in whole seconds (ext3, HFS+), or in steps of two (FAT).  What is read
 * in the second of its last change may be changed once more within it, and is listed as before.  So
 * a ctime names one version only if the server's clock was past that step when the object was
 * read.  Until then it is `unsettled`, and a copy takes nothing with that version for the same.
 *
 * How fine the times are is seen from each ctime itself, and not believed: one that is no whole
 * millisecond is fine, any other may be of a step of two seconds.
 *
 * What the server's clock says is never taken from ours: only the server sets ctimes, so its clock
 * was past the newest one when that was answered, and it has gone on since.  (mtime and atime can
 * be set by anybody.)  That is a lower bound; where nothing was changed lately it is too low, and
 * the objects of the newest seconds are read once more, in vain.  A ctime that is in the future
 * even here says nothing of the clock.
 */
#ifndef LIB_SOURCE_SERVER_CLOCK_H
#define LIB_SOURCE_SERVER_CLOCK_H

#include "lib/source/source.h"

struct server_clock {
	GMutex lock;	/* a leaf */
	int64_t newest; /* the newest coarse ctime, ns; 0: none was seen */
	int64_t seen;	/* when it was answered, monotonic ns */
};

/* Judges each attr of an answered request, which was sent and answered then (monotonic, us).  Any
 * thread. */
void server_clock_judge(struct server_clock *clock, struct backend_request *req, gint64 sent,
			gint64 answered);

#endif
