/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills, in the background, directories in which a client has looked up a name: one directory at a
 * time, and only after no client has waited for a while.  So the client that opens a deep file does
 * not wait until wide directories on its path are filled.
 */
#ifndef RETRIEVER_NAMES_PREFILL_H
#define RETRIEVER_NAMES_PREFILL_H

#include "retriever/objects/object.h"

struct prefill;

struct prefill *prefill_new(struct retriever *retriever);
/* Starts no more fills, ever; one that is under way may still end.  Called while the main loop does
 * not run. */
void prefill_stop(struct prefill *prefill);
void prefill_free(struct prefill *prefill);
/* A name was asked for in this unfilled directory.  Any thread. */
void prefill_touch(struct object *object);

#endif
