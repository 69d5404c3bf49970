/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk counts anew what is found and whole, while requests go on and count, too.  What they add
 * to the counters meanwhile is gone when the walk sets them, and is in the walk's sums only where
 * the walk came later.  So each change is noted by its inode, before anybody can see it, with all
 * walks that are under way.  A walk takes from its notes what it has seen itself; what is left in
 * the end it had passed before, and is added.
 *
 * Notes take memory by what changes during a walk.  After RECOUNT_NOTES of them no more are made,
 * and the counters may be too low.  What goes (names that are removed, directories that become
 * unfinished again) is not noted.
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
 * Around a change and its COUNT_ADD().  name in fd, or "" for fd itself, is the object, before or
 * after its change.  What recount_begin() returns is given to recount_end(), with whether the
 * change was made.  In between nothing else is waited for but the file system.
 */
ino_t recount_begin(struct retriever *retriever, int fd, const char *name, unsigned changes);
void recount_end(struct retriever *retriever, ino_t ino, unsigned changes, bool done);

/* A walk begins. */
struct recount *recount_new(struct retriever *retriever);
/* It counts this object: found, and with what is said. */
void recount_saw(struct recount *recount, const struct stat *st, unsigned changes);
/* It is over: sums is what it has to add, and no change happens until recount_free(). */
void recount_stop(struct recount *recount, struct recount_sums *sums);
void recount_free(struct recount *recount);

#endif
