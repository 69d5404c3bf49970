/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The check-lists of things to do that commands print, and that somebody ticks. */
#ifndef CTL_CHECKLIST_H
#define CTL_CHECKLIST_H

#include <glib.h>

#include "lib/config/volume_config.h"

void checklist_item(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Prints lines below an item: the first ones, and how many more there are. */
void checklist_lines(const GPtrArray *lines);
/*
 * Lists "client:/path" for each client of NFS version 3 that has mounted the source's tree, a part
 * of it, or a directory above it, as far as the old server tells.  Safe to print; some clients may
 * be gone.  NULL with error set, one line.  Blocks.
 */
GPtrArray *checklist_mounts(const struct volume_config *config, GError **error);

#endif
