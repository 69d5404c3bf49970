/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RETRIEVER_PROGRESS_SOURCE_SILENT_H
#define RETRIEVER_PROGRESS_SOURCE_SILENT_H

#include "retriever/objects/retriever.h"

/* Says once that the old server has not answered for a minute while somebody waited, and once that
 * nobody waits for it any more, as it answers or as they gave up.  Every second; main thread. */
void source_silent_tick(struct retriever *retriever);

#endif
