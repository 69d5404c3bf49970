/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes turns between fills, which write to an object, and brackets, which are changes by clients:
 * a fill that writes and a bracket exclude each other.
 *
 * Several brackets may be open at once, unless one of them has to be alone.  For fairness a fill
 * that finds brackets open or waiting is put off, and a bracket waits that finds fills writing or
 * put off.  When the last bracket is closed the fills go on; when the last fill has written the
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

/* A fill has written.  fill_leave() is the same for callers that do not hold the lock. */
void turns_leave(struct object *object);

/* 0: the bracket is open; -errno: it is refused; done is not called in either case.  1: it waits.
 */
int turns_begin(struct object *object, struct turn *turn);
/* The open bracket is closed. */
void turns_end(struct object *object, struct turn *turn);
/* Takes back a bracket that waits; done is not called. */
void turns_withdraw(struct object *object, struct turn *turn);

/*
 * Fills ask before they write; these functions take the lock.  True: the fill may write, and calls
 * fill_leave() after.  False: brackets are open or wait.  Then fill_enter() calls fn(object, arg)
 * on a worker when they are closed, and the fill has entered already; the caller's reference must
 * last until then.
 */
bool fill_try_enter(struct object *object);
bool fill_enter(struct object *object, void (*fn)(struct object *object, void *arg), void *arg);
void fill_leave(struct object *object);

#endif
