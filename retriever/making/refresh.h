/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings an entry of a copy up to date: an object of the same version stays, another version is
 * removed and made anew, and a directory is listed again.  No client is served from a copy, so a
 * crash in between may leave a name missing; the next listing makes it.
 *
 * The names of one object are one file in the copy too: the first name whose file is the same
 * serves as the provisional name (links.h) for the others.  An unsettled object (copy_mark.h)
 * stays, too, and is read again at the switch.
 */
#ifndef RETRIEVER_MAKING_REFRESH_H
#define RETRIEVER_MAKING_REFRESH_H

#include "retriever/making/new_object.h"

/* copy_mark_compare() of the object that has the name; COPY_OTHER also where it is not the same
 * file as the object's other names. */
int refresh_compare(const struct new_object *m, struct stat *st);
/* 0 with *outcome, never MAKE_ASK_BARE; or -errno. */
int refresh_entry(struct new_object *m, enum make_outcome *outcome);

#endif
