/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that say how much the background may ask of an old server, and [server HOST], which says
 * it of all volumes together that come from there. */
#ifndef LIB_CONFIG_CONFIG_LIMITS_H
#define LIB_CONFIG_CONFIG_LIMITS_H

#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

/* Parsers of keys, of which each fills in its field: a uint64_t, an unsigned, a struct calendar *.
 */
gboolean config_parse_bandwidth(void *field, const struct config_place *at, GError **error);
gboolean config_parse_requests(void *field, const struct config_place *at, GError **error);
gboolean config_parse_limits(void *field, const struct config_place *at, GError **error);

/* Whether a group [server HOST] can have that key. */
bool config_is_server_key(const char *name);

/* The host of a source, or NULL: it is this machine's own tree, or wrong.  g_free. */
char *config_host(const char *source);
/* The directory there of an nfs:// source, or NULL: it is none, or wrong.  g_free. */
char *config_nfs_path(const char *source);

/* Fills in config->server, where config->source is on a host that has a group.  A group that no
 * volume of the file is under is a mistake: the server would not be spared.  Limits are divided by
 * `nodes`, so that all nodes of a cluster together stay under them. */
gboolean config_find_server(const char *file, GKeyFile *parsed, struct volume_config *config,
			    GError **error);

#endif
