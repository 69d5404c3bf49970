/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Brings one name of an unfilled directory: a LOOKUP on the old server, and that one object made
 * here. */
#ifndef RETRIEVER_NAMES_ONE_NAME_H
#define RETRIEVER_NAMES_ONE_NAME_H

#include "retriever/objects/object.h"

/* done(0): name is there; -ENOENT: the old server does not have it.  name is copied. */
void directory_name(struct object *object, const char *name, object_done_fn done, void *arg);

/*
 * Brings a name into a directory that is filled, from which a rule had left it out (rules.h), as if
 * it had come with the others.  path: the directory's on the old server.  The caller has called
 * place_new() for the directory.  done(0): it is made; -ENOENT: the old server does not have it, or
 * a rule leaves it out; -EEXIST or another -errno: it cannot be made, which is also in the list of
 * errors.
 */
void directory_name_late(struct object *object, const char *path, const char *name,
			 object_done_fn done, void *arg);

/* Cancels a directory_name() that was not answered; arg: the one that was passed to it.  Answers it
 * with -ECANCELED, unless the old server was asked already: then the object that it names is still
 * made. */
void directory_name_cancel(struct object *object, void *arg);

#endif
