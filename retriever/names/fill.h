/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories: one name at a time, and all of them.
 *
 * An unfilled directory is changed by the retriever alone (I6).  A fill lists the old directory
 * page by page and makes what is not there yet; its pages are made on a worker while the next is on
 * its way.  When the last entry is made the directory's mtime is set back and its record says
 * FILLED: only then do doors list it or change names in it.  A crash in between leaves it
 * unfilled, and the next fill finds most names there.  A demand does not wait for a background
 * fill: it starts a fill of its own, and the first to end fills the directory.
 *
 * An entry that cannot be made (its name is hostile or reserved, its type unknown, it cannot be
 * read) leaves the directory unfilled, and listed (I12), except that what vanished on the old
 * server between the listing and the look is left out.
 */
#ifndef RETRIEVER_NAMES_FILL_H
#define RETRIEVER_NAMES_FILL_H

#include "lib/source/source.h"
#include "retriever/names/skip_names.h"
#include "retriever/objects/object.h"

/* done(0): the directory is filled.  May call done at once.  small_data: what brings the names may
 * bring the data of small files as well, where that costs little. */
void directory_fill(struct object *object, enum backend_priority priority, bool small_data,
		    object_done_fn done, void *arg);

/* Likewise, where the administrator gives up names (skip_names.h): by a listing of its own. */
void directory_fill_without(struct object *object, struct skip_names *skip, object_done_fn done,
			    void *arg);

/* done(0): every name is there, as a dummy at least (dummy.h). */
void directory_fill_names(struct object *object, object_done_fn done, void *arg);

/* Nobody waits for it any more, arg: of a directory_fill() that was not answered.  As
 * transfer_cancel(); a fill for the background goes on. */
bool directory_fill_cancel(struct object *object, void *arg);

/* It was found elsewhere on the old server: a fill that was waited for is made again. */
void directory_fill_again(struct object *object);

#endif
