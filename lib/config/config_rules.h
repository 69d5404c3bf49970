/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that say what of the old server's tree is left out: exclude and include. */
#ifndef LIB_CONFIG_CONFIG_RULES_H
#define LIB_CONFIG_CONFIG_RULES_H

#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

/* Parses patterns, which blanks part; a blank after a backslash belongs to its pattern.  field: a
 * char **, NULL-terminated (g_strfreev). */
gboolean config_parse_patterns(void *field, const struct config_place *at, GError **error);

/* Makes config->rules, when all keys are read: what is no pattern, or stands in both lists, is a
 * mistake. */
gboolean config_make_rules(struct volume_config *config, const char *file, const char *group,
			   GError **error);

#endif
