/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the old server lists and does not tell the rights of is made for nobody: it is root's, with
 * no permission bits, and its record says so (MIGRATE_REC_CLOSED_*).  Its failure is its own: its
 * directory is filled.  Nothing of it is fetched, and it is not finished, before the old server
 * tells its rights.  Then it gets them in place.
 *
 * What may crash where: it has no permission bits before its attributes are set in the order of
 * attributes.h, in which no step gives more than the object's rights, and the record says so last.
 * What was killed in between is closed still, and its rights are asked for and set again.  What a
 * client (root) has set meanwhile stays (I7).
 */
#ifndef RETRIEVER_DATA_RIGHTS_H
#define RETRIEVER_DATA_RIGHTS_H

#include "retriever/objects/object.h"

/* Whether an object of that type is made for nobody when BACKEND_XATTRS has failed so. */
bool rights_are_refused(const struct retriever *retriever, mode_t mode, int status);
/* The line in the list of errors of what was made as that, if it was, in the directory dir_fd. */
void rights_note_refused(struct retriever *retriever, int dir_fd, const char *name, int status);

/*
 * Asks for the rights of an object that is closed, and gives it what it is told.  Then
 * told(arg, status, reason), once, on a worker: 0, -ESTALE: it is not where it was on the old
 * server; or -errno.  demand: a client waits.
 */
void rights_ask(struct object *object, bool demand,
		void (*told)(void *arg, int status, const char *reason), void *arg);

#endif
