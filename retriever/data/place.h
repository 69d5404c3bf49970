/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps directories unfinished upwards (I5): when an unfinished object moves into a directory, that
 * directory and those above it get records. */
#ifndef RETRIEVER_DATA_PLACE_H
#define RETRIEVER_DATA_PLACE_H

#include "retriever/objects/object.h"

struct places;

struct places *places_new(void);
void places_free(struct places *places);

/*
 * Called when an object that is not normal is about to get a name in dir_fd: that directory and its
 * ancestors up to the root get records, and the object's record gets the path that the object has
 * on the old server.  0: the caller calls place_end() when the name was made, or will not be made.
 * Else -errno.  Blocks for the disk.  Main thread.
 */
int place_begin(struct object *object, int dir_fd);
void place_end(struct retriever *retriever);

/* The same for an object that the retriever itself is about to make in dir_fd.  Any thread. */
int place_new(struct retriever *retriever, int dir_fd);

/* Called when an unfinished object was found in dir_fd, where a program of this machine has moved
 * it: that directory and its ancestors get records if they have none.  Returns the number of
 * directories that had none, or -errno; -EAGAIN: one of them is being moved.  Blocks for the disk.
 */
int place_found(struct retriever *retriever, int dir_fd);

/* For finish.h, which excludes placing while it drops a record: */
void places_lock(struct retriever *retriever);
void places_unlock(struct retriever *retriever);
/* places_open(): whether a name may be made by a placing now.  places_so_far(): how many placings
 * were begun. */
bool places_open(struct retriever *retriever);
gint places_so_far(struct retriever *retriever);

#endif
