/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shortens a record that lists so many missing ranges that it does not fit. */
#ifndef RETRIEVER_DATA_GAPS_H
#define RETRIEVER_DATA_GAPS_H

#include "retriever/objects/object.h"

/* Fetches the smallest missing ranges so that the record fits again.  Does not block; done(0 or
 * -errno) as fetch_range() calls it, maybe at once. */
void gaps_close(struct object *object, object_done_fn done, void *arg);

#endif
