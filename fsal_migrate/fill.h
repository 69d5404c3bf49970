/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Waits for the names of a directory that must be here before an operation may go down. */
#ifndef FSAL_MIGRATE_FILL_H
#define FSAL_MIGRATE_FILL_H

#include "fsal_migrate/object.h"

/*
 * Returns when dir is filled, waiting for its fill (which is started) until the fill is as old as
 * the hold time.  Ok, DELAY, or an error.
 */
fsal_status_t mg_fill_directory(struct mg_object *dir);
/* Whether a name may be made or taken away in dir: ok, ERR_FSAL_ACCESS, DELAY, ... */
fsal_status_t mg_may_name(struct mg_object *dir, const char *name);
/*
 * Returns when name can be looked up in dir below: dir is filled, or this one name is here with
 * its attributes.  ERR_FSAL_NOENT when the old server has no such name.
 */
fsal_status_t mg_fill_name(struct mg_object *dir, const char *name);
/* As mg_fill_name(), whatever the state of dir: the name was found without its attributes. */
fsal_status_t mg_fetch_name(struct mg_object *dir, const char *name);
/* Starts mg_fetch_name() and does not wait. */
void mg_fetch_name_start(struct mg_object *dir, const char *name);
/* The object goes away: cancels the calls that it still has. */
void mg_fill_release(struct mg_object *object);

#endif
