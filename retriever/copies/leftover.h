/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes back objects that are in an unfilled directory although the old server does not list them:
 * a client asked for a name to which the old server answers without listing it (a directory of
 * snapshots, another spelling).
 */
#ifndef RETRIEVER_COPIES_LEFTOVER_H
#define RETRIEVER_COPIES_LEFTOVER_H

#include "retriever/objects/retriever.h"

struct object;

/*
 * Takes the name out of the directory; path: the directory's, below the source's root.  A stub is
 * removed; a whole object, or a directory, is set aside (aside.h).  An object that a client has
 * changed stays (I7).  Either is in the report.  A name for which this fails stays too, and is in
 * the list of errors (I12).  Blocks for the disk.  0 or -errno.
 */
int leftover_take_back(struct retriever *retriever, int dir_fd, const char *name, const char *path);

/*
 * Takes a name that the caller knows to be unchanged out of the directory in the same way, without
 * a report.  -EBUSY: a client begins to change it; then it stays, and no error is listed.
 */
int leftover_set_aside(struct retriever *retriever, int dir_fd, const char *name, const char *path);

/*
 * Whether a client has asked for the name since this process began, in a directory that has not
 * been filled since (names may be forgotten where there are very many).  A name that was neither
 * listed nor asked for was made by a local program, and must not be taken back.  Any thread.
 */
bool leftover_was_asked(struct object *directory, const char *name);
void leftover_note_asked(struct object *directory, const char *name);
void leftover_forget_asked(struct object *directory);

#endif
