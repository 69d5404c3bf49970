/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A change to an unfinished object, made in the calling thread between begin and end. */
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
 * Waits no longer than the hold time for the retriever to allow the change; then DELAY, and
 * nothing was changed.  fd: any descriptor of the object.
 */
fsal_status_t mg_bracket(struct mg_volume *volume, int fd, const struct mg_change *change);

/*
 * The same for a change that needs no bracket when the object is normal: looks, and makes the
 * change in a bracket or just so.
 */
fsal_status_t mg_change(struct mg_object *object, const struct mg_change *change);

/* The same, without believing what is known of the object. */
fsal_status_t mg_look_and_change(struct mg_object *object, const struct mg_change *change);

/* migrate_lock_directory() of a directory: a descriptor to close; -ESTALE: it is gone; else -errno.
 */
int mg_hold(struct mg_object *dir, enum migrate_lock_directory hold, struct timespec deadline);

#endif
