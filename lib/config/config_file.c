/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/config_file.h"

#include <string.h>

#define BYTE_ORDER_MARK "\357\273\277"

bool config_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > CONFIG_NAME_MAX || name[0] == '.' || name[0] == '-')
		return false;
	return strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-") == len;
}

/* GKeyFile merges groups and lets the last of two equal keys win; here both are mistakes, which a
 * copied and half edited group would otherwise hide. */
static gboolean check_repetitions(const char *file, const char *text, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *group = g_strdup("");

	for (unsigned i = 0; lines[i]; i++) {
		char *line = g_strstrip(lines[i]);
		size_t len = strlen(line);
		char *id, *equals = strchr(line, '=');

		if (line[0] == '[' && line[len - 1] == ']') {
			g_free(group);
			group = g_strndup(line + 1, len - 2);
			id = g_strdup_printf("[%s]", group);
		} else if (equals && line[0] != '#') {
			*equals = '\0';
			id = g_strdup_printf("[%s] %s", group, g_strchomp(line));
		} else {
			continue;
		}
		if (g_hash_table_contains(seen, id)) {
			g_set_error(
				error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_PARSE,
				"%s: %s: stands here twice (again in line %u); remove one of them",
				file, id, i + 1);
			g_free(id);
			return FALSE;
		}
		g_hash_table_add(seen, id);
	}
	return TRUE;
}

/* The host becomes the name of a file in /run. */
static bool host_ok(const char *host)
{
	const size_t len = strlen(host);

	return len && len < 200 && host[0] != '.' && host[0] != '-' &&
	       strspn(host, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._:%-") == len;
}

static gboolean check_name(const struct config_place *at, GError **error)
{
	if (!strcmp(at->group, CONFIG_DEFAULTS))
		return TRUE;
	if (g_str_has_prefix(at->group, CONFIG_SERVER))
		return host_ok(at->group + strlen(CONFIG_SERVER)) ||
		       config_wrong(error, at,
				    "no host; write it as it stands in the URLs of sources, "
				    "without brackets");
	if (!g_str_has_prefix(at->group, CONFIG_VOLUME))
		return config_wrong(error, at,
				    "unknown group; groups are called [volume NAME], [server HOST] "
				    "or [defaults]");
	return config_name_ok(at->group + strlen(CONFIG_VOLUME)) ||
	       config_wrong(error, at,
			    "no good volume name; use 1 to %d of A-Z a-z 0-9 . _ -, not "
			    "beginning with . or -",
			    CONFIG_NAME_MAX);
}

/* Some other formats need quotes; here they would be part of the value. */
static bool is_quoted(const char *value)
{
	static const char *const marks[] = {"\"", "'", "\342\200\234", "\342\200\230",
					    "\342\200\236"};

	for (unsigned i = 0; i < G_N_ELEMENTS(marks); i++)
		if (g_str_has_prefix(value, marks[i]))
			return true;
	return false;
}

gboolean config_file_check(const char *file, GKeyFile *parsed, const char *group,
			   config_refuses_fn refuses, GError **error)
{
	g_auto(GStrv) names = g_key_file_get_keys(parsed, group, NULL, NULL);
	struct config_place at = {file, group, NULL, NULL};

	if (!check_name(&at, error))
		return FALSE;
	for (unsigned i = 0; names[i]; i++) {
		const char *why = refuses(group, names[i]);

		at.key = names[i];
		at.value = NULL;
		if (why)
			return config_wrong(error, &at, "%s", why);
		g_autofree char *value = config_file_value(parsed, group, names[i]);
		at.value = value;
		if (is_quoted(value))
			return config_wrong(error, &at, "write it without quotes");
	}
	return TRUE;
}

GKeyFile *config_file_load(const char *file, config_refuses_fn refuses, GError **error)
{
	g_autoptr(GKeyFile) parsed = g_key_file_new();
	g_autoptr(GError) inner = NULL;
	g_autofree char *text = NULL;
	gsize length;

	if (!g_file_get_contents(file, &text, &length, &inner)) {
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_NOT_FOUND,
			    "%s; write it, see quickmigrate.conf(5), or give another with --config",
			    inner->message);
		return NULL;
	}
	if (strlen(text) != length) {
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_PARSE,
			    "%s: holds a NUL byte; it must be a text file", file);
		return NULL;
	}
	/* some editors put this before a text, and it cannot be seen */
	const char *begin = text + (g_str_has_prefix(text, BYTE_ORDER_MARK) ? 3 : 0);
	if (!g_key_file_load_from_data(parsed, begin, (gsize)-1, G_KEY_FILE_NONE, &inner)) {
		g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_PARSE,
			    "%s: %s; correct that line, see quickmigrate.conf(5)", file,
			    inner->message);
		return NULL;
	}
	if (!check_repetitions(file, begin, error))
		return NULL;

	g_auto(GStrv) groups = g_key_file_get_groups(parsed, NULL);
	for (unsigned i = 0; groups[i]; i++)
		if (!config_file_check(file, parsed, groups[i], refuses, error))
			return NULL;
	return g_steal_pointer(&parsed);
}

char *config_file_value(GKeyFile *parsed, const char *group, const char *key)
{
	char *value = g_key_file_get_value(parsed, group, key, NULL);

	return value ? g_strstrip(value) : NULL;
}

static void free_volume_name(gpointer data)
{
	struct volume_name *name = data;

	g_free(name->name);
	g_free(name->wave);
	g_free(name->root);
	g_free(name->source);
	g_free(name->socket);
	g_free(name);
}

GPtrArray *config_names_new(void)
{
	return g_ptr_array_new_with_free_func(free_volume_name);
}
