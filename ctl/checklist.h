/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the lists of what is to be done have in common: they are printed, and somebody ticks them.
 */
#ifndef CTL_CHECKLIST_H
#define CTL_CHECKLIST_H

#include <glib.h>

#include "lib/config/volume_config.h"

void checklist_item(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Lines below an item: the first ones, and how many more there are. */
void checklist_lines(const GPtrArray *lines);
/*
 * "client:/path" of each client by NFS version 3 that has the source's tree mounted, a part of it,
 * or what it is a part of, as far as the old server tells.  Safe to print; some may be gone.  NULL
 * with error set, one line.  Blocks.
 */
GPtrArray *checklist_mounts(const struct volume_config *config, GError **error);

#endif
