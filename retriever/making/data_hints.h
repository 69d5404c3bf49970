/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories whose files all came with their data when the directory was filled, so that the
 * crawler, which comes back for the data, need not open each of them to find that out.
 *
 * A hint, in memory: it is taken once, and whoever is told wrongly (data was lost again, something
 * was placed there, two directories have one hash) looks at each file the next time.  That a
 * directory is whole is another question, and not answered from here (finish.c).
 */
#ifndef RETRIEVER_MAKING_DATA_HINTS_H
#define RETRIEVER_MAKING_DATA_HINTS_H

#include "retriever/objects/object.h"

struct data_hints;

struct data_hints *data_hints_new(void);
void data_hints_free(struct data_hints *brought);
/* The directory was filled just now.  all: no file in it lacks data that must still be fetched. */
void data_hints_note(struct object *directory, bool all);
/* Whether that was so; FALSE from then on. */
bool data_hints_take(struct object *directory);

#endif
