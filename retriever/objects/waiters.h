/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who waits for an object: for a range of a file, or for all names of a directory.  A wait ends by
 * its answer, by a failure, or by a cancel.
 */
#ifndef RETRIEVER_OBJECTS_WAITERS_H
#define RETRIEVER_OBJECTS_WAITERS_H

#include "retriever/objects/object.h"

struct waiter {
	uint64_t start, end; /* of a file */
	bool background;
	struct trace_id trace;
	unsigned failures; /* of parts of it, which it does without; background */
	int status;	   /* the first of them */
	object_done_fn done;
	void *arg;
};

/* Lock held: adds one.  It is counted as waiting until waiters_run(). */
void waiters_add(struct object *object, uint64_t start, uint64_t end, bool background,
		 object_done_fn done, void *arg);
/* Lock held: takes those off a file whose ranges are here; run them with waiters_run() after
 * unlocking. */
void waiters_take(struct object *object, GQueue *out);
/* Likewise all. */
void waiters_take_all(struct object *object, GQueue *out);
void waiters_run(struct retriever *retriever, GQueue *waiters, int status);
/* Takes the lock.  The waiter with that arg is answered with -ECANCELED, before this returns; if
 * nobody waits any more the object's requests, by is_of, are taken back from the gate.  False:
 * there is none (any more). */
bool waiters_cancel(struct object *object, void *arg,
		    bool (*is_of)(const struct backend_request *req, const void *object));

/* Notes that the old server put off what nobody waits for any more.  Takes the lock. */
void object_note_later(struct object *object);
/* Lock held: it has answered. */
void object_forget_later(struct object *object);

/* Notes that an attempt failed: record, list of errors, all waiters.  status: -errno.  Takes the
 * lock. */
void object_fail(struct object *object, int status, const char *reason);
/* Likewise with the lock held: run out with waiters_run(0) after unlocking. */
void object_fail_locked(struct object *object, int status, const char *reason, GQueue *out);
/*
 * Likewise where only [start, end) of a file could not be had: who waits for other ranges is not
 * told. Who waits in the background goes on behind it, a limited number of times, and is told in
 * the end; but not after -EAGAIN, which the rest of the file is likely to get as well.  Whether
 * anybody waits on: what was planned for them has to be looked at again.
 */
bool object_fail_range(struct object *object, uint64_t start, uint64_t end, int status,
		       const char *reason, GQueue *out);

#endif
