/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The beginning: the volume's root becomes that of the source. */
#ifndef ATTACH_H
#define ATTACH_H

#include "volume/retriever.h"

/*
 * Binds the empty root to the source: its record and .migrate/.  Blocks for the disk and for one
 * round trip: slow thread.  0, or -errno with *message, one line that says what to do (g_free).
 */
int attach_volume(struct retriever *retriever, char **message);

/* Puts what no object comes with into the report.  0 or -errno. */
int attach_report(struct retriever *retriever);

#endif
