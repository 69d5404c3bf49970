/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directories in which old servers show the snapshots of a tree.  They are not brought: there may
 * be a hundred times the tree in them.
 */
#ifndef LIB_CONFIG_SNAPSHOT_NAMES_H
#define LIB_CONFIG_SNAPSHOT_NAMES_H

#include "lib/config/volume_config.h"

#define SNAPSHOT_TEXT "a directory of snapshots, which is not brought (snapshot-directories)"

/* Whether a directory of that name is one: of the configuration's, or of the makers' own names. */
bool snapshot_name_is(const struct volume_config *config, const char *name);

#endif
