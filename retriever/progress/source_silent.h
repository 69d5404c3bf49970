/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RETRIEVER_PROGRESS_SOURCE_SILENT_H
#define RETRIEVER_PROGRESS_SOURCE_SILENT_H

#include "retriever/objects/retriever.h"

/* Logs once that the old server has not answered for a minute while a request waited, and once that
 * no request waits for it any more, because it answers or because the waiting requests were
 * withdrawn.  Called every second; main thread. */
void source_silent_tick(struct retriever *retriever);

#endif
