/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The programs that a node runs, or would run, for a volume.  They are asked, and found by
 * $PATH. */
#ifndef CTL_CLUSTER_RUNS_HERE_H
#define CTL_CLUSTER_RUNS_HERE_H

#include <glib.h>

#include "ctl/cluster/resources.h"
#include "lib/config/volume_config.h"

/* Adds the releases of the programs and modules, and the resource agents.  below: as in
 * node_files.h. */
void runs_here_releases(GPtrArray *items, const char *below);
/* Adds which of the units that the cluster manager alone is to start are started at boot.  locks:
 * also the rpc.statd that Ganesha would start. */
void runs_here_units(GPtrArray *items, const char *volume, bool locks);
/* Adds the clock, the cluster's fencing, the place of Samba's state, and how Samba finds numbers
 * for its users. */
void runs_here_services(GPtrArray *items, const char *volume);
/* Adds how many nodes share the limit of background requests to the old server; nothing if there is
 * no limit. */
void runs_here_caps(GPtrArray *items, const struct server_config *server);
/* Adds whether the file system itself refuses a second mount. */
void runs_here_disk(GPtrArray *items, const struct resources_disk *disk);

#endif
