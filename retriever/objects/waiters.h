/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The waiters of an object: each waits for a range of a file, or for all names of a directory.  A
 * wait ends with its answer, with a failure, or with a cancel.
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

/* Lock held: adds a waiter.  It is counted as waiting until waiters_run(). */
void waiters_add(struct object *object, uint64_t start, uint64_t end, bool background,
		 object_done_fn done, void *arg);
/* Lock held: moves the waiters of a file whose ranges are here to out; run them with waiters_run()
 * after unlocking. */
void waiters_take(struct object *object, GQueue *out);
/* The same with all waiters of the object. */
void waiters_take_all(struct object *object, GQueue *out);
void waiters_run(struct retriever *retriever, GQueue *waiters, int status);
/* Takes the lock.  Answers the waiter with that arg with -ECANCELED before this returns.  If no
 * waiter is left, the object's requests, which is_of recognizes, are taken back from the gate.
 * False: there is no such waiter (any more). */
bool waiters_cancel(struct object *object, void *arg,
		    bool (*is_of)(const struct backend_request *req, const void *object));

/* Notes that the old server put off a request for which no waiter is left.  Takes the lock. */
void object_note_later(struct object *object);
/* Lock held: the old server has answered, so that note is removed. */
void object_forget_later(struct object *object);

/* Notes that an attempt failed, in the record and the list of errors, and answers all waiters.
 * status: -errno.  Takes the lock. */
void object_fail(struct object *object, int status, enum error_code error);
/* about: as of errors_add_name(). */
void object_fail_about(struct object *object, int status, enum error_code error, const char *about);
/* The same with the lock held: run out with waiters_run(0) after unlocking. */
void object_fail_locked(struct object *object, int status, enum error_code error, GQueue *out);
/*
 * The same where only [start, end) of a file could not be fetched: waiters for other ranges are not
 * told.  A waiter in the background goes on behind that range, a limited number of times, and is
 * told in the end; after -EAGAIN it does not go on, because the rest of the file is likely to get
 * -EAGAIN too.  Returns whether waiters are left, for which the plan of reads has to be made again.
 */
bool object_fail_range(struct object *object, uint64_t start, uint64_t end, int status,
		       enum error_code error, GQueue *out);

#endif
