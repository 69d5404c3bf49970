/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens and closes the retriever of one volume: all its parts, in the order in which they depend on
 * each other. */
#ifndef RETRIEVER_START_H
#define RETRIEVER_START_H

#include "retriever/objects/retriever.h"

/*
 * Opens the volume: takes its lock, opens the private directory where there is one, and the
 * backend.  Takes config.  NULL with error set: one line.  If the old server is away at start,
 * clients can still use an attached volume's normal objects, but nothing can be fetched: this
 * function fails, and the restart of the systemd unit tries again.
 */
struct retriever *retriever_open(struct volume_config *config, GError **error);
void retriever_close(struct retriever *retriever);

#endif
