/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a node runs, and would run, for a volume: programs are asked, and found by $PATH. */
#ifndef CTL_CLUSTER_RUNS_HERE_H
#define CTL_CLUSTER_RUNS_HERE_H

#include <glib.h>

#include "ctl/cluster/resources.h"
#include "lib/config/volume_config.h"

/* Adds the releases of the programs and modules, and the resource agents.  below: as in
 * node_files.h. */
void runs_here_releases(GPtrArray *items, const char *below);
/* Adds which units are started at boot, which the cluster manager alone is to start.  locks: and
 * the rpc.statd that Ganesha would start. */
void runs_here_units(GPtrArray *items, const char *volume, bool locks);
/* Adds the clock, the cluster's fencing, where Samba's state lies, and how it finds numbers for its
 * users. */
void runs_here_services(GPtrArray *items, const char *volume);
/* Adds how many nodes share what the old server's background may ask of it; nothing where nothing
 * limits that. */
void runs_here_caps(GPtrArray *items, const struct server_config *server);
/* Adds whether the file system itself refuses to be mounted a second time. */
void runs_here_disk(GPtrArray *items, const struct resources_disk *disk);

#endif
