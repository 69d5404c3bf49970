/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the configuration as a key file: checks its groups and keys, and not the keys' values. */
#ifndef LIB_CONFIG_CONFIG_FILE_H
#define LIB_CONFIG_CONFIG_FILE_H

#include "lib/config/parse.h"
#include "lib/config/volume_config.h"

#define CONFIG_VOLUME	"volume " /* groups of volumes; the name follows */
#define CONFIG_SERVER	"server " /* of old servers; the host follows */
#define CONFIG_DEFAULTS "defaults"

/* Why a group cannot have a key, or NULL; static. */
typedef const char *(*config_refuses_fn)(const char *group, const char *key);

/* NULL with error set: one line that names the file, the group and key, and the remedy. */
GKeyFile *config_file_load(const char *file, config_refuses_fn refuses, GError **error);
/* Checks the names of one of its groups, and that no value has quotes, as loading does; file: for
 * the message. */
gboolean config_file_check(const char *file, GKeyFile *parsed, const char *group,
			   config_refuses_fn refuses, GError **error);
/* The key's value without blanks around it, or NULL.  g_free. */
char *config_file_value(GKeyFile *parsed, const char *group, const char *key);

/* 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with . or -: whether it can be the name of a volume
 * or a wave. */
#define CONFIG_NAME_MAX 64
bool config_name_ok(const char *name);

/* An empty list of struct volume_name, which are freed with it. */
GPtrArray *config_names_new(void);

#endif
