/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entries of a listing in the order of their fileids (sorter.h says why). */
#ifndef RETRIEVER_NAMES_FILL_ORDER_H
#define RETRIEVER_NAMES_FILL_ORDER_H

#include "retriever/names/sorter.h"

/* Those of one page, in place. */
void directory_order_batch(struct backend_batch *batch);

/* How many of the entries, from the first on, are kept now: fewer than all where there is no room.
 */
guint directory_order_keep(struct sorter *sorter, const struct backend_batch *batch);

/* The next of what was kept, as a page.  NULL: there is nothing more, or *status says what failed.
 */
struct backend_batch *directory_order_take(struct sorter *sorter, int *status);

#endif
