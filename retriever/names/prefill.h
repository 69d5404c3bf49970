/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories in which a client looked up a name are filled behind its back, one at a time, and
 * only once no demand has waited for a while: opening a deep file must not pay for wide
 * directories.
 */
#ifndef RETRIEVER_NAMES_PREFILL_H
#define RETRIEVER_NAMES_PREFILL_H

#include "retriever/objects/object.h"

struct prefill;

struct prefill *prefill_new(struct retriever *retriever);
/* Starts no more, ever; one that is under way may still end.  While the loop does not run. */
void prefill_stop(struct prefill *prefill);
void prefill_free(struct prefill *prefill);
/* A name was asked for in this unfilled directory.  Any thread. */
void prefill_touch(struct object *object);

#endif
