/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives an entry's name to a new object (make.h says how), or to an object of the prior copy. */
#ifndef RETRIEVER_MAKING_CREATE_H
#define RETRIEVER_MAKING_CREATE_H

#include "retriever/making/new_object.h"

/* 0 with *outcome, or -errno. */
int create_object(struct new_object *m, enum make_outcome *outcome);

#endif
