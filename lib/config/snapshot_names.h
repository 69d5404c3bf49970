/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories in which old servers show the snapshots of a tree.  These directories are not
 * brought: the snapshots may be a hundred times as large as the tree.
 */
#ifndef LIB_CONFIG_SNAPSHOT_NAMES_H
#define LIB_CONFIG_SNAPSHOT_NAMES_H

#include "lib/config/volume_config.h"

#define SNAPSHOT_TEXT "a directory of snapshots, which is not brought (snapshot-directories)"

/* Whether a directory of that name is one, by the configuration's names, or by those that makers of
 * servers use. */
bool snapshot_name_is(const struct volume_config *config, const char *name);

#endif
