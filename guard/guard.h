/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A local program that opens an unfinished object of the volume waits until the object is whole (a
 * file) or filled (a directory), or gets an error; so no program reads a hole where data should be.
 *
 * A file is brought wholly, and has no record any more, before it is opened, for two reasons.  The
 * kernel tells nobody of lseek(2) with SEEK_DATA, by which cp(1) and others leave out the holes of
 * a stub without reading it.  And it tells of a change before it is made and not after it: so there
 * is no bracket, and nothing that a fill could still write or set when the file can be changed.
 *
 * A file server waits as well, unless it serves the volume through the layer (servers.h).
 *
 * One thread.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include "lib/config/config.h"

struct guard;

/* NULL with *error.  config: as long as the guard lives.  refuse: files are not fetched. */
struct guard *guard_new(const struct volume_config *config, bool refuse, GError **error);
/* Waits for something to do, and does it.  FALSE: it is over; with *error if it should not be. */
gboolean guard_turn(struct guard *guard, GError **error);
/* Takes no more; those who wait get what can be had within some seconds.  From a signal's handler
 * too. */
void guard_stop(struct guard *guard);
void guard_free(struct guard *guard);
/* What an earlier one has left guards nothing any more. */
void guard_remove(const struct volume_config *config);

#endif
