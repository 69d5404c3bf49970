/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config_places.h"

#include <string.h>
#include <sys/un.h>

#include "common/migrate.h"

gboolean config_parse_path(void *field, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/')
		return config_wrong(error, at, "not an absolute path; name it from / on");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

gboolean config_parse_socket(void *field, const struct config_place *at, GError **error)
{
	const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);

	if (at->value[0] != '/' || strlen(at->value) >= room)
		return config_wrong(
			error, at,
			"not an absolute path of less than %zu bytes; remove the line for %s", room,
			MIGRATE_SOCKET_DIR "/NAME.sock");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

gboolean config_parse_journal(void *field, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/' || !at->value[1])
		return config_wrong(error, at,
				    "not a directory's absolute path; remove the line for %s",
				    REPORT_DIR "/NAME.journal");
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

gboolean config_parse_kept_file(void *field, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/' || g_str_has_suffix(at->value, "/"))
		return config_wrong(error, at,
				    "not a file's absolute path; remove the line for %s/NAME.%.*s",
				    REPORT_DIR, (int)strcspn(at->key, "-"), at->key);
	*(char **)field = g_strdup(at->value);
	return TRUE;
}

gboolean config_parse_names(void *field, const struct config_place *at, GError **error)
{
	g_auto(GStrv) names = g_strsplit_set(at->value, " \t,", -1);
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

	for (unsigned i = 0; names[i]; i++)
		if (*names[i])
			g_strv_builder_add(builder, names[i]);
	*(char ***)field = g_strv_builder_end(builder);
	return TRUE;
}

gboolean config_parse_names_or_none(void *field, const struct config_place *at, GError **error)
{
	char **list;

	config_parse_names(field, at, error);
	list = *(char ***)field;
	if (list[0] && !list[1] && !strcmp(list[0], "none"))
		g_clear_pointer(&list[0], g_free);
	return TRUE;
}

gboolean config_parse_directories(void *field, const struct config_place *at, GError **error)
{
	char **list;

	if (!config_parse_names(field, at, error))
		return FALSE;
	list = *(char ***)field;
	for (unsigned i = 0; list[i]; i++)
		if (list[i][0] != '/')
			return config_wrong(error, at,
					    "%s is not an absolute path of the old server; name "
					    "directories as clients mount them",
					    list[i]);
	return TRUE;
}
