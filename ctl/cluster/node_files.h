/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies on a node for a volume: its configuration, the files that names, and state. */
#ifndef CTL_CLUSTER_NODE_FILES_H
#define CTL_CLUSTER_NODE_FILES_H

#include <glib.h>
#include <stdbool.h>

#include "lib/config/volume_config.h"

/* Adds the settings of the volume out of file (NULL: CONFIG_FILE), and the files they name. */
void node_files_settings(GPtrArray *items, const char *file, const struct volume_config *config);
/* Adds the doors' configuration, and where state lies that has to move with the volume.  below: the
 * tree in which to look, "" for the whole machine. */
void node_files_state(GPtrArray *items, const struct volume_config *config, const char *below);

/* Whether Ganesha gives locks to clients of NFSv3, as far as its configuration for the volume says.
 */
bool node_files_locks_v3(const char *below, const char *volume);
/* Those of volumes, with spaces between them, whose own Ganesha does so, beside that of volume;
 * NULL: none.  g_free. */
char *node_files_locks_beside(const char *below, const char *volume, char **volumes);
/* Adds these, where the volume's does so. */
void node_files_others(GPtrArray *items, const char *volume, char **volumes, const char *below);

/* Adds where a path below that tree leads to.  What is in /var/lib or /etc is a node's own: a lack.
 */
void node_files_place(GPtrArray *items, const char *below, const char *key, const char *path,
		      const char *remedy);
/* The configuration of a server's instance for the volume, /etc/SERVER/VOLUME.conf, or if there is
 * none /etc/SERVER/USUAL.conf.  g_free. */
char *node_files_door(const char *below, const char *server, const char *volume, const char *usual);
/* The first 64 bits of a file's SHA-256, or NULL: it cannot be read.  g_free. */
char *node_files_digest(const char *file);

#endif
