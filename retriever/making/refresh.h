/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bringing an entry of a copy up to date: what is the same stays, another version goes and is made
 * anew, a directory is to be listed again.  Nobody is served from a copy: a crash in between leaves
 * a name that is not there, and is made by the next listing.
 *
 * The names of one object are one file in the copy too: the first one that is the same is the
 * provisional name (links.h) of the others.  One that is unsettled (copy_mark.h) stays, too, and is
 * read again at the switch.
 */
#ifndef RETRIEVER_MAKING_REFRESH_H
#define RETRIEVER_MAKING_REFRESH_H

#include "retriever/making/new_object.h"

/* copy_mark_compare() of what is there; COPY_OTHER, too, where it is not the file of its other
 * names. */
int refresh_compare(const struct new_object *m, struct stat *st);
/* 0, MAKE_THERE, MAKE_ASK or -errno. */
int refresh_entry(struct new_object *m);

#endif
