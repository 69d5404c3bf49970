/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads the counters from .migrate/state and saves them there.  Counters are exact only if they
 * were saved at a clean end. */
#ifndef RETRIEVER_PROGRESS_COUNTERS_FILE_H
#define RETRIEVER_PROGRESS_COUNTERS_FILE_H

#include "retriever/objects/retriever.h"

void counters_load(struct retriever *retriever);
/* Blocks for the disk.  Any thread. */
void counters_save(struct retriever *retriever, bool clean);
/* Sets all counters to zero, when a volume is attached. */
void counters_reset(struct retriever *retriever);

#endif
