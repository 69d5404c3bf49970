/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unfinished upwards (I5): giving ancestors records when something unfinished moves under them.
 * Every door must know before the name is made: who is above tells them (places_set_teller()).
 */
#ifndef PLACE_H
#define PLACE_H

#include "volume/object.h"

struct places;

/* Tells every door that something unfinished is about to come below a directory that was normal;
 * done(arg), maybe at once, when all have noted it or are gone.  Main thread. */
typedef void (*place_tell_fn)(void *teller, void (*done)(void *arg), void *arg);

struct places *places_new(void);
void places_free(struct places *places);
void places_set_teller(struct places *places, place_tell_fn tell, void *teller);

/*
 * The object, which is not normal, is about to get a name in dir_fd: that directory and its
 * ancestors up to the root get records, the object's record the path it has on the old server.
 * Where one of the directories was normal every door must know before the name is made: then 1 is
 * returned, and told(arg) is called when they do.  0: go on at once.  -errno.  After 0 and 1,
 * place_end() when the name is there or will not be.  Main thread.
 */
int place_begin(struct object *object, int dir_fd, void (*told)(void *arg), void *arg);
void place_end(struct retriever *retriever);

/* Something unfinished is in dir_fd, where a program of this machine has moved it: that directory
 * and its ancestors get records where they have none.  0, or -errno; -EAGAIN: one is being moved.
 * Blocks for the disk. */
int place_found(struct retriever *retriever, int dir_fd);

/* For finish.h, which excludes placing while it drops a record: */
void places_lock(struct retriever *retriever);
void places_unlock(struct retriever *retriever);
/* Whether a name may be made now, and how often that was begun. */
bool places_open(struct retriever *retriever);
gint places_so_far(struct retriever *retriever);

#endif
