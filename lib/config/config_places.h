/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys that say where something is: parsers, of which each fills in its field, a char *, or a
 * char ** where there may be several. */
#ifndef LIB_CONFIG_CONFIG_PLACES_H
#define LIB_CONFIG_CONFIG_PLACES_H

#include "lib/config/parse.h"

#define REPORT_DIR "/var/lib/quickmigrate"

gboolean config_parse_path(void *field, const struct config_place *at, GError **error);
gboolean config_parse_socket(void *field, const struct config_place *at, GError **error);
gboolean config_parse_journal(void *field, const struct config_place *at, GError **error);
/* A file in REPORT_DIR unless this says another one: NAME, with the first word of the key. */
gboolean config_parse_kept_file(void *field, const struct config_place *at, GError **error);
/* Words with blanks or commas between them. */
gboolean config_parse_names(void *field, const struct config_place *at, GError **error);
/* The same; the word `none` alone means an empty list. */
gboolean config_parse_names_or_none(void *field, const struct config_place *at, GError **error);
/* Such words that are directories of the old server: absolute, and written as clients mount them.
 */
gboolean config_parse_directories(void *field, const struct config_place *at, GError **error);

#endif
