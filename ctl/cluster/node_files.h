/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that a node has for a volume: its configuration, the files that this names, and
 * state. */
#ifndef CTL_CLUSTER_NODE_FILES_H
#define CTL_CLUSTER_NODE_FILES_H

#include <glib.h>
#include <stdbool.h>

#include "lib/config/volume_config.h"

/* Adds the volume's settings in file (NULL: CONFIG_FILE), and the files that they name. */
void node_files_settings(GPtrArray *items, const char *file, const struct volume_config *config);
/* Adds the doors' configuration, and the places of state that has to move with the volume.  below:
 * the tree in which to look, "" for the whole machine. */
void node_files_state(GPtrArray *items, const struct volume_config *config, const char *below);

/* Whether Ganesha gives locks to clients of NFSv3, as far as its configuration for the volume says.
 */
bool node_files_locks_v3(const char *below, const char *volume);
/* The volumes, besides `volume`, whose own Ganesha gives such locks: names with spaces between
 * them; NULL: none.  g_free. */
char *node_files_locks_beside(const char *below, const char *volume, char **volumes);
/* Adds these volumes, if the volume's own Ganesha gives such locks. */
void node_files_others(GPtrArray *items, const char *volume, char **volumes, const char *below);

/* Adds where a path below that tree leads to.  A path in /var/lib or /etc is the node's own: a
 * lack. */
void node_files_place(GPtrArray *items, const char *below, const char *key, const char *path,
		      const char *remedy);
/* The configuration of a server's instance for the volume: /etc/SERVER/VOLUME.conf or, if there is
 * none, /etc/SERVER/USUAL.conf.  g_free. */
char *node_files_door(const char *below, const char *server, const char *volume, const char *usual);
/* The first 64 bits of a file's SHA-256, or NULL: it cannot be read.  g_free. */
char *node_files_digest(const char *file);

#endif
