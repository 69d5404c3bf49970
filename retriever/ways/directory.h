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
#ifndef DIRECTORY_H
#define DIRECTORY_H

#include "volume/object.h"
#include "skip.h"

/* done(0): the directory is filled.  May call done at once.  small_data: what brings the names may
 * bring the data of small files as well, where that costs little. */
void directory_fill(struct object *object, enum backend_priority priority, bool small_data,
		    object_done_fn done, void *arg);

/* Likewise, where the administrator gives up names (skip.h): by a listing of its own. */
void directory_fill_without(struct object *object, struct skip *skip, object_done_fn done,
			    void *arg);

/* done(0): every name is there, as a dummy at least (dummy.h). */
void directory_fill_names(struct object *object, object_done_fn done, void *arg);

/* done(0): name is there; -ENOENT: the old server does not have it.  name is copied. */
void directory_name(struct object *object, const char *name, object_done_fn done, void *arg);

/* Whether names are not the retriever's to make any more (I6): one that a client removed since must
 * not come back. */
bool directory_names_fixed(struct object *object);
/* With the lock held: where a fill has brought every name, and nobody makes or changes anything,
 * the directory becomes filled (on a worker). */
void directory_complete(struct object *object);

/* The directory's path below the source's root, NULL where it is not known.  g_free. */
char *directory_source_path(struct object *object);

#endif
