/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unfinished upwards (I5): giving ancestors records when something unfinished moves under them. */
#ifndef RETRIEVER_DATA_PLACE_H
#define RETRIEVER_DATA_PLACE_H

#include "retriever/objects/object.h"

struct places;

struct places *places_new(void);
void places_free(struct places *places);

/*
 * The object, which is not normal, is about to get a name in dir_fd: that directory and its
 * ancestors up to the root get records, the object's record the path it has on the old server.
 * 0: place_end() when the name is there or will not be.  Or -errno.  Blocks for the disk.  Main
 * thread.
 */
int place_begin(struct object *object, int dir_fd);
void place_end(struct retriever *retriever);

/* Something unfinished is in dir_fd, where a program of this machine has moved it: that directory
 * and its ancestors get records where they have none.  The number of those that had none, or
 * -errno; -EAGAIN: one is being moved.  Blocks for the disk. */
int place_found(struct retriever *retriever, int dir_fd);

/* For finish.h, which excludes placing while it drops a record: */
void places_lock(struct retriever *retriever);
void places_unlock(struct retriever *retriever);
/* Whether a name may be made now, and how often that was begun. */
bool places_open(struct retriever *retriever);
gint places_so_far(struct retriever *retriever);

#endif
