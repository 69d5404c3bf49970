/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsers of the keys that say where something is; each fills in its field, a char *, or a char **
 * if there may be several. */
#ifndef LIB_CONFIG_CONFIG_PLACES_H
#define LIB_CONFIG_CONFIG_PLACES_H

#include "lib/config/parse.h"

#define REPORT_DIR "/var/lib/quickmigrate"
#define SOCKET_OF  MIGRATE_SOCKET_DIR "/%s.sock" /* migrate.h */

gboolean config_parse_path(void *field, const struct config_place *at, GError **error);
gboolean config_parse_socket(void *field, const struct config_place *at, GError **error);
gboolean config_parse_journal(void *field, const struct config_place *at, GError **error);
/* The path of a file.  Default: REPORT_DIR/NAME.WORD, where WORD is the first word of the key. */
gboolean config_parse_kept_file(void *field, const struct config_place *at, GError **error);
/* Words with blanks or commas between them. */
gboolean config_parse_names(void *field, const struct config_place *at, GError **error);
/* The same; the word `none` alone means an empty list. */
gboolean config_parse_names_or_none(void *field, const struct config_place *at, GError **error);
/* The same for directories of the old server: absolute, and written as clients mount them.
 */
gboolean config_parse_directories(void *field, const struct config_place *at, GError **error);

#endif
