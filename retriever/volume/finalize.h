/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finalizes a volume: removes .migrate/, so that nothing of the migration stays on the volume. */
#ifndef RETRIEVER_VOLUME_FINALIZE_H
#define RETRIEVER_VOLUME_FINALIZE_H

#include "retriever/objects/retriever.h"

/*
 * Proves that nothing is unfinished (verify_watched(); verify_volume() if unwatched), keeps the
 * report elsewhere, then removes .migrate/.  With dry_run nothing is kept or removed.  Slow thread.
 * 0, or -errno with *message, one line that says what to do (g_free).
 */
int finalize_volume(struct retriever *retriever, bool unwatched, bool dry_run, char **message);

#endif
