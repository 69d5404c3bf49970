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

/*
 * Whether the object is normal, and with a directory everything in it (I5).  Costs no system call.
 * For a file the answer true is for ever; a directory becomes FILLED again when something
 * unfinished is placed in it, so that what is found in it counts only if this is true afterwards.
 */
bool mg_is_normal(struct mg_object *object);
/* Whether it was found normal once: a directory has all its names then, for ever. */
bool mg_was_normal(struct mg_object *object);
void mg_set_normal(struct mg_object *object, uint64_t places);

/*
 * Opens the object and loads its record.  1: unfinished.  0: normal, and remembered.  Negative:
 * -ESTALE when it is gone, -EBADMSG for a damaged record, or another -errno; nothing is to be
 * cleaned up then.  Else mg_look_done() afterwards.
 */
int mg_look(struct mg_object *object, struct mg_look *look);
void mg_look_done(struct mg_look *look);
/* migrate_stub_confirm(), with -errno as of mg_look(). */
int mg_look_confirm(struct mg_object *object, const struct migrate_version *found);
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
