/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts the entries of a listing into the order of their fileids (sorter.h says why). */
#ifndef RETRIEVER_NAMES_FILL_ORDER_H
#define RETRIEVER_NAMES_FILL_ORDER_H

#include "retriever/names/sorter.h"

/* Sorts the entries of one page, in place. */
void directory_order_batch(struct backend_batch *batch);

/* Keeps entries of the page, and returns how many, from the first on: fewer than all where there is
 * no room. */
guint directory_order_keep(struct sorter *sorter, const struct backend_batch *batch);

/* Takes the next of the kept entries, as a page.  NULL: there are no more, or *status says what
 * failed. */
struct backend_batch *directory_order_take(struct sorter *sorter, int *status);

#endif
