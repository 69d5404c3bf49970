/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brackets: a door changes an unfinished object between BEGIN and END (migrate.h).
 *
 * Brackets and fills that write exclude each other (turns.h).  A TRUNCATE excludes other brackets
 * too, so that a size is raised only after the record was clipped.
 *
 * What may crash where.  Between BEGIN and the change: nothing has happened, except that ranges
 * beyond the size are no longer in the record, which does not change its meaning.  Between the
 * change and END: the ranges are still missing, and the old bytes come back; the client has no
 * answer yet.  If the size became shorter, the ranges beyond it are void when the record is loaded,
 * and the next BEGIN stores the record without them, so that they do not come back when the size is
 * raised.  Before END is answered it stores the record, with the client's bytes as dirty.  After
 * that, a kill leaves the bytes in the page cache and in the record; after a power cut the epoch is
 * another, so dirty ranges count as missing again.  Ranges that had been made durable (COMMIT) had
 * left `missing` when their record was flushed, before COMMIT was answered.
 *
 * Where holes do not tell which pages the kernel dropped (capabilities.h), END of what is dirty is
 * always a durable one.
 */
#ifndef RETRIEVER_DATA_BRACKET_H
#define RETRIEVER_DATA_BRACKET_H

#include "retriever/objects/object.h"

struct bracket;

/*
 * Begins a bracket.  done is called once, maybe before this returns: with status 0 when the bracket
 * is open, with -errno when it cannot be opened.  If the error is known at once, done is called and
 * NULL is returned.  offset and length: the range of a PUNCH; for other changes they may be
 * anything.  dir_fd: for PLACE the destination directory, used before this returns.  Returns the
 * bracket, owned by the caller until bracket_end() or bracket_abort().
 */
struct bracket *bracket_begin(struct object *object, enum migrate_change change, uint64_t offset,
			      uint64_t length, int dir_fd, object_done_fn done, void *arg);

/* Ends an open bracket and frees it.  done: the record says so (durable: on stable storage). */
void bracket_end(struct bracket *bracket, bool changed, bool durable, uint64_t offset,
		 uint64_t length, object_done_fn done, void *arg);

/* The door went away: ends the bracket as if nothing had been changed.  Frees it, open or not; a
 * done that has not been called yet is called with -ECANCELED. */
void bracket_abort(struct bracket *bracket);

/* Aborts a bracket whose BEGIN has not been answered.  False: BEGIN has been answered, and nothing
 * was done. */
bool bracket_cancel(struct bracket *bracket);

/* Whether BEGIN was answered with an error after bracket_begin() had returned: then the caller
 * aborts the bracket. */
bool bracket_failed(struct bracket *bracket);

#endif
