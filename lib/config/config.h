/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads /etc/quickmigrate/quickmigrate.conf: a key file (desktop-entry syntax, GKeyFile) with one
 * group [volume NAME] per volume, and [defaults] for what the volumes have in common.
 * migrate-retriever and migratectl read it; the crawler asks the retriever ("settings", control.h).
 */
#ifndef LIB_CONFIG_CONFIG_H
#define LIB_CONFIG_CONFIG_H

#include "lib/config/config_places.h"
#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

#define CONFIG_FILE	   "/etc/quickmigrate/quickmigrate.conf"
#define GUARD_STATE_SUFFIX ".guard"	 /* behind the socket's path: guard/state.h */
#define GUARD_LOCK_SUFFIX  ".guard-lock" /* beside it, root's alone: guard/state.h, keeper.h */
/* Members of this group may ask for status and metrics, and for nothing else (peer.h). */
#define MONITOR_GROUP "quickmigrate-monitor"

/*
 * The volume's settings in file (NULL: CONFIG_FILE).  NULL with error set on any mistake in the
 * file: one line that names the file, the group and key, and the remedy.  Unknown keys are
 * mistakes.
 */
struct volume_config *config_load(const char *file, const char *volume, GError **error);
/* The same, even if the root is not there: its file system may be on another node. */
struct volume_config *config_load_unmounted(const char *file, const char *volume, GError **error);
/* The roots of all volumes of the file but that group (NULL: of all), to tell which overlap.  Looks
 * at the disk for symbolic links.  g_hash_table_unref. */
GHashTable *config_roots_new(GKeyFile *parsed, const char *but);
void config_roots_add(GHashTable *roots, const char *group, const char *root);
/* As config_load_unmounted(), of a group that may not be written down yet; file: for messages. */
struct volume_config *config_of_group(GKeyFile *parsed, GHashTable *roots, const char *file,
				      const char *volume, GError **error);
/* Whether a volume can have that key. */
bool config_is_key(const char *name);
/* The file's groups and keys, of which only the names are checked.  g_key_file_unref. */
GKeyFile *config_parse(const char *file, GError **error);
/* The names of all volumes in the file, a NULL-terminated vector. */
char **config_volumes(const char *file, GError **error);

/* All volumes of the file, in its order, as struct volume_name, freed with the array.  The values
 * of other keys are not looked at, so that one mistake does not hide 199 volumes.  NULL with error
 * set. */
GPtrArray *config_names(const char *file, GError **error);
void config_free(struct volume_config *config);

#endif
