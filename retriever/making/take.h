/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking an entry from the prior copy instead of making a stub. */
#ifndef RETRIEVER_MAKING_TAKE_H
#define RETRIEVER_MAKING_TAKE_H

#include "retriever/making/new_object.h"

/* *ret: as of create_object().  FALSE: nothing is taken, and it has to be made. */
bool take_prior(struct new_object *m, int *ret);

/* Counts a file that was taken, and its data. */
void take_count(const struct new_object *m);
void take_count_data(const struct new_object *m);

#endif
