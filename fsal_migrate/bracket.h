/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A bracket: a change to an unfinished object, which the calling thread makes between begin and end
 * of a request to the retriever. */
#ifndef FSAL_MIGRATE_BRACKET_H
#define FSAL_MIGRATE_BRACKET_H

#include "fsal_migrate/object.h"

struct mg_change {
	enum migrate_change kind;
	uint64_t offset, length;
	struct mg_object *dir; /* PLACE: the directory that gets the name */
	fsal_status_t (*make)(void *arg);
	void *arg;
	bool once; /* of struct migrate_bracket */
};

/*
 * Makes the change when the retriever allows it.  Waits no longer than the hold time for that; then
 * DELAY, and nothing was changed.  fd: any descriptor of the object.
 */
fsal_status_t mg_bracket(struct mg_volume *volume, int fd, const struct mg_change *change);

/*
 * The same for a change that needs no bracket if the object is normal: looks at the object, and
 * makes the change in a bracket or without one.
 */
fsal_status_t mg_change(struct mg_object *object, const struct mg_change *change);

/* The same, but looks even if the object is known to be normal. */
fsal_status_t mg_look_and_change(struct mg_object *object, const struct mg_change *change);

/* migrate_lock_directory() of a directory: a descriptor to close; -ESTALE: it is gone; else -errno.
 */
int mg_hold(struct mg_object *dir, enum migrate_lock_directory hold, struct timespec deadline);

#endif
