/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verifies that the migration of a volume is complete, by a walk over every object of the new tree.
 */
#ifndef RETRIEVER_VOLUME_VERIFY_H
#define RETRIEVER_VOLUME_VERIFY_H

#include "retriever/objects/retriever.h"

struct verify_count {
	uint64_t objects, unfinished;
	int64_t directories, directories_whole, unfilled, files, files_whole, bytes, bytes_whole;
	char *first; /* the path of an unfinished object, g_free */
};

/*
 * Looks at every object of the new tree (not of .migrate/), also below normal directories, by
 * descriptor; no path is used.  Memory grows with the number of directories at one level and of
 * files with several names.  Sets the counters right, and gives records to directories above
 * unfinished objects where they have none (place_found()).  Bytes that clients wrote and that a
 * killed retriever has not made durable become durable soon.  keeps: what is whole and under
 * retention becomes immutable (retention_keep()).  The caller frees count->first with
 * g_free(), whatever is returned.  Blocks for the disk: slow thread.  An object that cannot be
 * looked at is a line in the log, and the walk goes on with the rest.  0, or -errno, also for such
 * an object, with *message, one line that says what to do (g_free).
 */
int verify_volume(struct retriever *retriever, bool keeps, struct verify_count *count,
		  char **message);

/* The same, and no object that is moved or linked during the walk, by any program, escapes it
 * (move_watch.h): moved objects are looked at as well, or the walk is made again.  Counts are too
 * high by directories that were moved. */
int verify_watched(struct retriever *retriever, bool keeps, struct verify_count *count,
		   char **message);

#endif
