/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The counters, from and to .migrate/state.  A state that was not saved at a clean end is not
 * exact. */
#ifndef RETRIEVER_PROGRESS_COUNTERS_FILE_H
#define RETRIEVER_PROGRESS_COUNTERS_FILE_H

#include "retriever/objects/retriever.h"

void counters_load(struct retriever *retriever);
/* Blocks for the disk.  Any thread. */
void counters_save(struct retriever *retriever, bool clean);
/* All to zero: a volume is attached. */
void counters_reset(struct retriever *retriever);

#endif
