/* SPDX-License-Identifier: GPL-3.0-or-later */
/* .migrate/errors as it was before lines were appended to it: a key file, a group for each entry.
 */
#ifndef RETRIEVER_OBJECTS_ERRORS_OLD_H
#define RETRIEVER_OBJECTS_ERRORS_OLD_H

#include "retriever/objects/errors_entry.h"

typedef void (*errors_old_fn)(void *arg, const struct error_entry *entry);

/* Whether there is one, and none of today's. */
bool errors_old_is(int dir_fd);
/* Calls found() with each entry.  A damaged file has none: the records still say what failed. */
void errors_old_load(int dir_fd, errors_old_fn found, void *arg);

#endif
