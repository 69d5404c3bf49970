/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills directories: brings all names of a directory from the old server.
 *
 * Only the retriever changes an unfilled directory (I6).  A fill lists the directory on the old
 * server page by page and makes the objects that are not here yet; a worker makes one page while
 * the next is on its way.  When the last entry is made, the directory's mtime is set back and its
 * record says FILLED: only then do doors list the directory or change names in it.  A crash in
 * between leaves the directory unfilled, and the next fill finds most names there.  A client's
 * request does not wait for a background fill: it starts a fill of its own, and the first fill that
 * ends makes the directory filled.
 *
 * An entry that cannot be made (its name is hostile or reserved, its type is unknown, or it cannot
 * be read) leaves the directory unfilled, and is in the list of errors (I12).  An object that was
 * removed from the old server after it was listed is left out and is no error.
 */
#ifndef RETRIEVER_NAMES_FILL_H
#define RETRIEVER_NAMES_FILL_H

#include "lib/source/source.h"
#include "retriever/names/skip_names.h"
#include "retriever/objects/object.h"

/* done(0): the directory is filled.  May call done at once.  small_data: the fill may bring the
 * data of small files together with their names, where that costs little. */
void directory_fill(struct object *object, enum backend_priority priority, bool small_data,
		    object_done_fn done, void *arg);

/* The same without the names that the administrator skips (skip_names.h); this makes a listing of
 * its own. */
void directory_fill_without(struct object *object, struct skip_names *skip, object_done_fn done,
			    void *arg);

/* done(0): every name is there, at least as a dummy (dummy.h). */
void directory_fill_names(struct object *object, object_done_fn done, void *arg);

/* Cancels the wait of a directory_fill() that was not answered; arg: the one that was passed to it.
 * As fetch_cancel(), except that a background fill goes on. */
bool directory_fill_cancel(struct object *object, void *arg);

/* The directory was found elsewhere on the old server: a fill for which there are waiters is made
 * again. */
void directory_fill_again(struct object *object);

#endif
