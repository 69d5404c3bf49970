/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes an entry's object from the prior copy, where that is possible, so that no stub need be
 * made. */
#ifndef RETRIEVER_MAKING_TAKE_H
#define RETRIEVER_MAKING_TAKE_H

#include "retriever/making/new_object.h"

/* TRUE: *ret is 0, with *outcome, or -errno.  FALSE: nothing is taken, and the object has to be
 * made; *outcome and *ret mean nothing. */
bool take_prior(struct new_object *m, enum make_outcome *outcome, int *ret);

/* Counts a file that was taken, and its data. */
void take_count(const struct new_object *m);
void take_count_data(const struct new_object *m);

#endif
