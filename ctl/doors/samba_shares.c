/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what `testparm -s` prints: the settings that are not the default, by the names that they
 * have in the manual; settings of [global] are those of a share that does not say otherwise.
 */
#include <pwd.h>
#include <string.h>
#include <strings.h>

#include "ctl/doors/served.h"

struct share {
	char *name; /* NULL: before the first */
	char *path, *objects;
	bool off; /* not served, or nothing that is in a directory */
};

static void share_clear(struct share *share)
{
	g_free(share->name);
	g_free(share->path);
	g_free(share->objects);
	memset(share, 0, sizeof(*share));
}

/* Whether migrate is in a list of modules, each of which may be NAME:PARAMETER. */
static bool has_migrate(const char *objects)
{
	g_auto(GStrv) names = g_strsplit_set(objects ? objects : "", " \t,;\"'", -1);

	for (unsigned i = 0; names[i]; i++) {
		names[i][strcspn(names[i], ":")] = '\0';
		if (g_str_equal(names[i], "migrate"))
			return true;
	}
	return false;
}

/* Each user's directory is a share. */
static void add_homes(GPtrArray *list, bool layer)
{
	const struct passwd *user;

	setpwent();
	while ((user = getpwent())) {
		g_autofree char *name = g_strdup_printf("share [homes] of %s", user->pw_name);

		if (user->pw_dir[0] == '/' && strspn(user->pw_dir, "/") < strlen(user->pw_dir))
			served_add(list, name, user->pw_dir, layer);
	}
	endpwent();
}

static void end_share(GPtrArray *list, struct share *global, struct share *share)
{
	if (share->name && !strcasecmp(share->name, "global")) {
		share_clear(global);
		*global = *share;
		memset(share, 0, sizeof(*share));
		return;
	}
	const char *path = share->path ? share->path : global->path;
	const bool layer = has_migrate(share->objects ? share->objects : global->objects);
	g_autofree char *name = g_strdup_printf("share [%s]", share->name);

	if (share->name && !share->off && path && *path)
		served_add(list, name, path, layer);
	else if (share->name && !share->off && !strcasecmp(share->name, "homes"))
		add_homes(list, layer);
	share_clear(share);
}

static bool says_yes(const char *value)
{
	return !strcasecmp(value, "yes") || !strcasecmp(value, "true") || !strcmp(value, "1");
}

static void take_share_setting(struct share *share, const char *key, char *value)
{
	const size_t len = strlen(value);

	if (!strcasecmp(key, "path") || !strcasecmp(key, "directory")) {
		if (len > 1 && value[0] == '"' && value[len - 1] == '"') {
			value[len - 1] = '\0';
			value++;
		}
		g_free(share->path);
		share->path = g_strdup(value);
	} else if (!strcasecmp(key, "vfs objects") || !strcasecmp(key, "vfs object")) {
		g_free(share->objects);
		share->objects = g_strdup(value);
	} else if (!strcasecmp(key, "printable") || !strcasecmp(key, "print ok")) {
		share->off |= says_yes(value);
	} else if (!strcasecmp(key, "available")) {
		share->off |= !says_yes(value);
	}
}

void served_by_samba(GPtrArray *list, const char *text, served_warn_fn warn, void *arg)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct share global = {NULL}, share = {NULL};

	for (unsigned i = 0; lines[i]; i++) {
		char *line = g_strstrip(lines[i]), *equals = strchr(line, '=');
		const size_t len = strlen(line);

		if (!len || strchr("#;", *line))
			continue;
		if (*line == '[' && line[len - 1] == ']') {
			end_share(list, &global, &share);
			share.name = g_strndup(line + 1, len - 2);
		} else if (equals) {
			*equals = '\0';
			g_strchomp(line);
			if (!strcasecmp(line, "include")) {
				g_autofree char *why = g_strdup_printf(
					"include = %s: what it has for some clients is not known",
					g_strchug(equals + 1));
				warn(arg, why);
			}
			take_share_setting(&share, line, g_strchug(equals + 1));
		}
	}
	end_share(list, &global, &share);
	share_clear(&global);
}
