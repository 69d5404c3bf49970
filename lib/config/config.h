/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /etc/quickmigrate/quickmigrate.conf: a key file (desktop-entry syntax, GKeyFile), one
 * [volume NAME] group per volume, and [defaults] for what they have in common.  Read by
 * migrate-retriever and migratectl.  The crawler asks the retriever ("settings", control.h).
 */
#ifndef LIB_CONFIG_CONFIG_H
#define LIB_CONFIG_CONFIG_H

#include "lib/config/config_places.h"
#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

#define CONFIG_FILE	   "/etc/quickmigrate/quickmigrate.conf"
#define GUARD_STATE_SUFFIX ".guard"	 /* behind the socket's path: guard/state.h */
#define GUARD_LOCK_SUFFIX  ".guard-lock" /* beside it, root's alone: guard/state.h, keeper.h */
/* Its members may ask for status and metrics, and for nothing else (peer.h). */
#define MONITOR_GROUP "quickmigrate-monitor"

/*
 * The volume's settings out of file (NULL: CONFIG_FILE).  NULL with error set on any mistake: one
 * line that names the file, the group and key, and the remedy.  Unknown keys are mistakes.
 */
struct volume_config *config_load(const char *file, const char *volume, GError **error);
/* The same, whether the root is there or not: its file system may be on another node. */
struct volume_config *config_load_unmounted(const char *file, const char *volume, GError **error);
/* The names of all volumes in the file, a NULL-terminated vector. */
char **config_volumes(const char *file, GError **error);

/* How a volume is found, and what is asked of many at once. */
struct volume_name {
	char *name, *socket;
	char *wave; /* NULL: none */
};
/* All of the file, in its order: of struct volume_name, freed with the array.  What their keys say
 * is not looked at, so that one mistake does not hide 199 volumes.  NULL with error set. */
GPtrArray *config_names(const char *file, GError **error);
void config_free(struct volume_config *config);

#endif
