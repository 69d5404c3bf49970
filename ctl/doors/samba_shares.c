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

/* What [global] says of usershares. */
struct users {
	char *path, *template; /* NULL: not said */
	char *objects;	       /* of the template, once it was printed */
	bool printed;	       /* the template was */
	bool none, not_owner_only;
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

static void note_template(struct users *users, const struct share *share)
{
	if (!share->name || !users->template || strcasecmp(users->template, share->name))
		return;
	users->printed = true;
	g_free(users->objects);
	users->objects = g_strdup(share->objects);
}

static bool is_homes(const struct share *share)
{
	return !strcasecmp(share->name, "homes");
}

/* The name stands for %S, but in [homes], where that is a user's.  g_free. */
static char *share_path(const struct share *share, const char *path)
{
	GString *text = g_string_new(path);

	if (!is_homes(share))
		g_string_replace(text, "%S", share->name, 0);
	return g_string_free(text, FALSE);
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

	if (share->name && !share->off && path && *path) {
		g_autofree char *real = share_path(share, path);
		served_add(list, name, real, layer);
	} else if (share->name && !share->off && is_homes(share)) {
		add_homes(list, layer);
	}
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

static void take_users_setting(struct users *users, const char *key, const char *value)
{
	if (!strcasecmp(key, "usershare path")) {
		g_free(users->path);
		users->path = g_strdup(value);
	} else if (!strcasecmp(key, "usershare template share")) {
		g_free(users->template);
		users->template = g_strdup(value);
	} else if (!strcasecmp(key, "usershare max shares")) {
		users->none = !strcmp(value, "0");
	} else if (!strcasecmp(key, "usershare owner only")) {
		users->not_owner_only = !says_yes(value);
	}
}

static void add_usershares(GPtrArray *list, const struct share *global, struct users *users,
			   served_warn_fn warn, void *arg)
{
	const bool hidden = users->template && *users->template && !users->printed;
	const guint before = list->len;
	const struct usershares shares = {
		.path = users->none ? "" : users->path,
		.owner_only = !users->not_owner_only,
		.layer = !hidden && has_migrate(users->objects ? users->objects : global->objects)};

	served_by_usershares(list, &shares);
	if (hidden && list->len > before) {
		g_autofree char *why = g_strdup_printf(
			"usershare template share = %s: testparm -s does not show that share, as "
			"with `-valid = no`, and usershares count as without the layer: give it an "
			"empty directory as its path in place of that line",
			users->template);
		warn(arg, why);
	}
	g_free(users->path);
	g_free(users->template);
	g_free(users->objects);
}

void served_by_samba(GPtrArray *list, const char *text, served_warn_fn warn, void *arg)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct share global = {NULL}, share = {NULL};
	struct users users = {NULL};

	for (unsigned i = 0; lines[i]; i++) {
		char *line = g_strstrip(lines[i]), *equals = strchr(line, '=');
		const size_t len = strlen(line);

		if (!len || strchr("#;", *line))
			continue;
		if (*line == '[' && line[len - 1] == ']') {
			note_template(&users, &share);
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
			take_users_setting(&users, line, g_strchug(equals + 1));
			take_share_setting(&share, line, equals + 1);
		}
	}
	note_template(&users, &share);
	end_share(list, &global, &share);
	add_usershares(list, &global, &users, warn, arg);
	share_clear(&global);
}
