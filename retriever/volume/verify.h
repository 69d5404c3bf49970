/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proof that all is done, by looking. */
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
 * descriptor: memory by the number of directories at one level and of files with several names, no
 * path is used.  Sets the counters right, and gives records to directories above what is unfinished
 * where they have none (place_found()).  What clients wrote and a retriever that was killed has not
 * made durable becomes so soon.  count->first is the caller's, g_free, whatever is returned. Blocks
 * for the disk: slow thread.  What cannot be looked at is a line in the log, and it goes on with
 * the rest.  0, or -errno, also for that, with *message, one line that says what to do (g_free).
 */
int verify_volume(struct retriever *retriever, struct verify_count *count, char **message);

/* Likewise, and nothing that is moved or linked during the walk, by whomever, escapes it
 * (move_watch.h): what was moved is looked at as well, or it walks again.  Counts are too high by
 * directories that were moved. */
int verify_watched(struct retriever *retriever, struct verify_count *count, char **message);

#endif
