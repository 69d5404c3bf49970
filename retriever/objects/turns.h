/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills that write to an object and brackets, which are changes of clients, exclude each other.
 *
 * Brackets are shared among themselves, unless one has to be alone.  Fairness: they take turns.  A
 * fill that finds brackets open or waiting is put off; a bracket that finds fills writing or put
 * off waits.  When the last bracket is closed the fills go on; when the last fill has written the
 * waiting brackets are let in.
 */
#ifndef RETRIEVER_OBJECTS_TURNS_H
#define RETRIEVER_OBJECTS_TURNS_H

#include "retriever/objects/object.h"

/* One bracket's. */
struct turn {
	bool alone, grows; /* grows: the record, so that it waits for others to end where it has no
			      room */
	/* Lock held: the bracket may be opened.  0, or -errno: it is not; 1: not yet, and it begins
	 * again. */
	int (*open)(struct turn *turn);
	/* The answer, once, on a worker, where it had to wait: the turn may be gone by then. */
	object_done_fn done;
	void *arg;
	enum { TURN_WAITING, TURN_OPEN, TURN_REFUSED } state;
};

/* All of these with the lock held. */

/* A fill has written.  fill_leave() is this for who does not hold the lock. */
void turns_leave(struct object *object);

/* 0 or -errno: it is open, or refused, and nobody is told.  1: it waits. */
int turns_begin(struct object *object, struct turn *turn);
/* The open bracket is closed. */
void turns_end(struct object *object, struct turn *turn);
/* One that waits does not want to any more; done is not called. */
void turns_withdraw(struct object *object, struct turn *turn);

/*
 * Fills ask before they write; these take the lock.  True: go on, and call fill_leave() after.
 * False: brackets are open or wait.  fill_enter(): then fn(object, arg) is called on a worker when
 * they are closed, having entered already; the caller's reference must last until then.
 */
bool fill_try_enter(struct object *object);
bool fill_enter(struct object *object, void (*fn)(struct object *object, void *arg), void *arg);
void fill_leave(struct object *object);

#endif
