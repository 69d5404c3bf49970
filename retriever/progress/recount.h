/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the counters exact: a walk of the tree counts anew how much is found and whole, while
 * requests go on and change the counters.  When the walk ends it sets the counters, so changes
 * during the walk would be lost unless the walk came to the object after the change.  So each
 * change is noted by its inode number, before it can be seen, with all walks that are under way.  A
 * walk removes from its notes each change that it has seen itself; the notes that are left in the
 * end are of objects that it had passed before the change, and are added to its sums.
 *
 * Notes take memory for each change during a walk.  After RECOUNT_NOTES of them no more are made,
 * and the counters may be too low.  Removed names, and directories that become unfinished again,
 * are not noted.
 */
#ifndef RETRIEVER_PROGRESS_RECOUNT_H
#define RETRIEVER_PROGRESS_RECOUNT_H

#include <sys/stat.h>

#include "retriever/objects/retriever.h"

#define RECOUNT_NOTES (1 << 20)

/* What happens to an object; may be combined. */
enum recount_change {
	RECOUNT_MADE = 1,   /* it has a name; a directory is unfilled */
	RECOUNT_FILLED = 2, /* a directory has its names */
	RECOUNT_WHOLE = 4,  /* it has no record any more */
};

struct recount_sums {
	gint64 directories, directories_whole, unfilled, files, files_whole, bytes, bytes_whole;
};

struct recounts *recounts_new(void);
void recounts_free(struct recounts *recounts);

/*
 * These two stand around a change and its COUNT_ADD().  name in fd, or "" for fd itself, is the
 * object, before or after its change.  The caller passes the result of recount_begin() to
 * recount_end(), and whether the change was made.  In between the caller waits for nothing else
 * than the file system.
 */
ino_t recount_begin(struct retriever *retriever, int fd, const char *name, unsigned changes);
void recount_end(struct retriever *retriever, ino_t ino, unsigned changes, bool done);

/* A walk begins. */
struct recount *recount_new(struct retriever *retriever);
/* The walk counts this object as found, and with these changes. */
void recount_saw(struct recount *recount, const struct stat *st, unsigned changes);
/* The walk is over: sums is what it has to add, and no change happens until recount_free(). */
void recount_stop(struct recount *recount, struct recount_sums *sums);
void recount_free(struct recount *recount);

#endif
