/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One volume's retriever, put together from its floors. */
#ifndef RETRIEVER_START_H
#define RETRIEVER_START_H

#include "retriever/objects/retriever.h"

/*
 * Opens the volume: takes its lock, opens the private directory where there is one, and the
 * backend.  Takes config.  NULL with error set: one line.  An old server that is away at start is
 * not an error for an attached volume's normal objects, but nothing can be fetched: this fails and
 * the unit's restart tries again.
 */
struct retriever *retriever_open(struct volume_config *config, GError **error);
void retriever_close(struct retriever *retriever);

#endif
