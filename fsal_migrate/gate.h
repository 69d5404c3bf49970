/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Objects' states, and what must be here before an operation may go down. */
#ifndef GATE_H
#define GATE_H

#include "door.h"

/* An object that was opened and whose record was loaded. */
struct mg_look {
	int fd; /* valid unless mg_look() failed */
	struct migrate_stub stub;
};

/* Whether nothing of the object itself is ever missing again; costs no system call.  A directory
 * that answers true may have become FILLED again, which makes no difference to itself. */
bool mg_is_normal(struct mg_object *object);
/* Whether every object in the directory is normal (I5); costs no system call. */
bool mg_children_normal(struct mg_object *dir);
void mg_set_normal(struct mg_object *object, uint64_t places);

/*
 * Opens the object and loads its record.  1: unfinished.  0: normal, and remembered.  Negative:
 * -ESTALE when it is gone, -EBADMSG for a damaged record, or another -errno; nothing is to be
 * cleaned up then.  Else mg_look_done() afterwards.
 */
int mg_look(struct mg_object *object, struct mg_look *look);
void mg_look_done(struct mg_look *look);
/* The descriptor, which is the caller's then. */
int mg_look_steal_fd(struct mg_look *look);

/*
 * Returns when dir is filled, waiting for its fill (which is started) until the fill is as old as
 * the hold time.  Ok, DELAY, or an error.
 */
fsal_status_t mg_gate_filled(struct mg_object *dir);
/*
 * Returns when name can be looked up in dir below: dir is filled, or this one name is here with
 * its attributes.  ERR_FSAL_NOENT when the old server has no such name.
 */
fsal_status_t mg_gate_name(struct mg_object *dir, const char *name);
/* As mg_gate_name(), whatever the state of dir: the name was found without its attributes. */
fsal_status_t mg_fetch_name(struct mg_object *dir, const char *name);
/* Starts that without waiting. */
void mg_fetch_name_start(struct mg_object *dir, const char *name);
/* The object goes away: cancels what it still waits for. */
void mg_gate_release(struct mg_object *object);

#endif
