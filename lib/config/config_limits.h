/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that say how much the background may ask of an old server, and the group [server HOST],
 * which says it for all volumes of that server together. */
#ifndef LIB_CONFIG_CONFIG_LIMITS_H
#define LIB_CONFIG_CONFIG_LIMITS_H

#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

/* Parsers of keys; each fills in its field: a uint64_t, an unsigned, a struct calendar *.
 */
gboolean config_parse_bandwidth(void *field, const struct config_place *at, GError **error);
gboolean config_parse_requests(void *field, const struct config_place *at, GError **error);
gboolean config_parse_limits(void *field, const struct config_place *at, GError **error);

/* Whether a group [server HOST] can have that key. */
bool config_is_server_key(const char *name);

/* The host of a source, or NULL: it is a tree of this machine, or not valid.  g_free. */
char *config_host(const char *source);
/* The directory of an nfs:// source on its host, or NULL: it is another source, or not valid.
 * g_free. */
char *config_nfs_path(const char *source);

/* Fills in config->server if the host of config->source has a group.  A group without a volume in
 * the file is a mistake: its limits would spare no server.  Limits are divided by `nodes`, so that
 * all nodes of a cluster together stay under them. */
gboolean config_find_server(const char *file, GKeyFile *parsed, struct volume_config *config,
			    GError **error);

#endif
