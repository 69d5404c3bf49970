/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brackets: a door changes an unfinished object between BEGIN and END (migrate.h).
 *
 * Brackets and fills that write exclude each other (turns.h).  TRUNCATE is alone, so that a
 * size is raised only after the record was clipped.
 *
 * What may crash where.  Between BEGIN and the change: nothing has happened, except that ranges
 * beyond the size have left the record, which says the same.  Between the change and END: the
 * ranges are still missing and the old bytes come back; the client has no answer.  A shorter size
 * voids the ranges beyond it when the record is loaded, and the next BEGIN stores that, so that
 * they do not come back with a size that is raised.  END stores the record with what the client
 * wrote as dirty before it is answered: a kill after that finds the bytes in the page cache and the
 * record; a power cut finds another epoch, so dirty counts as missing again; what had been made
 * durable (COMMIT) had left `missing` with its record's flush before its answer.
 */
#ifndef RETRIEVER_DATA_BRACKET_H
#define RETRIEVER_DATA_BRACKET_H

#include "retriever/objects/object.h"

struct bracket;

/*
 * Begins.  done is called once, when the bracket is open (status 0) or cannot be, maybe before
 * this returns.  An error that is known at once returns NULL (done was called).  offset and length
 * are of a PUNCH, and anything else of other changes.  PLACE: dir is the
 * destination directory's descriptor, used before this returns.  fd is of object, used before this
 * returns.  Returns the bracket, owned by the caller until bracket_end() or bracket_abort().
 */
struct bracket *bracket_begin(struct object *object, enum migrate_change change, uint64_t offset,
			      uint64_t length, int dir_fd, object_done_fn done, void *arg);

/* Ends an open bracket and frees it.  done: the record says so (durable: on stable storage). */
void bracket_end(struct bracket *bracket, bool changed, bool durable, uint64_t offset,
		 uint64_t length, object_done_fn done, void *arg);

/* The door went away: as if nothing had been changed.  Frees it, open or not; a done that has not
 * been called yet is called with -ECANCELED. */
void bracket_abort(struct bracket *bracket);

/* Aborts a bracket whose BEGIN has not been answered; false: it has been, nothing was done. */
bool bracket_cancel(struct bracket *bracket);

/* Whether BEGIN was answered with an error after bracket_begin() had returned: to be aborted. */
bool bracket_failed(struct bracket *bracket);

#endif
