/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Remembers directories whose files all got their data when the directory was filled, so that the
 * crawler, which comes back for the data, need not open each file to find that out.
 *
 * This is a hint, in memory.  A hint is used once.  It may be wrong (data was lost again, an object
 * was placed there, two directories have the same hash); then the crawler looks at each file the
 * next time.  Whether a directory is whole is decided elsewhere (finish.c).
 */
#ifndef RETRIEVER_MAKING_DATA_HINTS_H
#define RETRIEVER_MAKING_DATA_HINTS_H

#include "retriever/objects/object.h"

struct data_hints;

struct data_hints *data_hints_new(void);
void data_hints_free(struct data_hints *brought);
/* The directory was filled just now.  all: no file in it has data that must still be fetched. */
void data_hints_note(struct object *directory, bool all);
/* Whether there is such a hint for the directory; it is removed. */
bool data_hints_take(struct object *directory);

#endif
