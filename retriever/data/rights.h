/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handles objects that the old server lists without telling their rights.  Such an object is made
 * closed to every user: it belongs to root, has no permission bits, and its record says so
 * (MIGRATE_REC_CLOSED_*).  The failure concerns this object alone: its directory is filled.  The
 * object's data is not fetched, and the object is not finished, before the old server tells its
 * rights.  Then the object gets them in place.
 *
 * What may crash where: the object has no permission bits before its attributes are set, they are
 * set in the order of attributes.h, in which no step gives more than the object's rights, and the
 * record is changed last.  After a kill in between the object is still closed, and its rights are
 * asked for and set again.  Attributes that a client (root) has set meanwhile stay (I7).
 */
#ifndef RETRIEVER_DATA_RIGHTS_H
#define RETRIEVER_DATA_RIGHTS_H

#include "retriever/objects/object.h"

/* Whether an object of that type is made closed when BACKEND_XATTRS has failed with that status. */
bool rights_are_refused(const struct retriever *retriever, mode_t mode, int status);
/* Puts the object at name in dir_fd into the list of errors, if it was made closed. */
void rights_note_refused(struct retriever *retriever, int dir_fd, const char *name, int status);

/* Puts into the report that the object keeps the permissions it has here.  0 or -errno. */
int rights_keep(struct object *object);

/*
 * Asks for the rights of a closed object, and sets them.  Then calls told(arg, status, reason),
 * once, on a worker: 0; -ESTALE: the object is not where it was on the old server, or is another
 * version; or -errno.  demand: a client waits.
 */
void rights_ask(struct object *object, bool demand,
		void (*told)(void *arg, int status, enum error_code error), void *arg);

#endif
