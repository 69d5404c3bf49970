/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/smb_conf.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

/* Settings of who may do what, which mean the same on another server. */
static const char *const taken[] = {"valid users",
				    "invalid users",
				    "read list",
				    "write list",
				    "admin users",
				    "read only",
				    "guest ok",
				    "guest only",
				    "force user",
				    "force group",
				    "hosts allow",
				    "hosts deny",
				    "browseable",
				    "hide unreadable",
				    "access based share enum",
				    "create mask",
				    "directory mask",
				    "force create mode",
				    "force directory mode",
				    "inherit permissions",
				    "inherit owner",
				    NULL};
static const char *const special[] = {"homes", "printers", "print$", NULL};

static bool has_key(const GPtrArray *settings, const char *key)
{
	const size_t len = strlen(key);

	for (unsigned i = 0; i < settings->len; i++) {
		const char *setting = settings->pdata[i];

		if (!strncmp(setting, key, len) && g_str_has_prefix(setting + len, " = "))
			return true;
	}
	return false;
}

static void take_setting(struct inventory_share *share, const char *key, const char *value)
{
	if (!strcmp(key, "path")) {
		g_free(share->path);
		share->path = g_strdup(value);
	} else if (!strcmp(key, "comment")) {
		g_free(share->comment);
		share->comment = g_strdup(value);
	} else {
		g_ptr_array_add(g_strv_contains(taken, key) ? share->settings : share->left,
				g_strdup_printf("%s = %s", key, value));
	}
}

/* testparm prints what is not the default, and [global] sets the defaults. */
static void complete(const GPtrArray *shares, const GPtrArray *global)
{
	for (unsigned i = 0; i < shares->len; i++) {
		struct inventory_share *share = shares->pdata[i];

		for (unsigned j = 0; j < global->len; j++) {
			const char *setting = global->pdata[j];
			g_autofree char *key =
				g_strndup(setting, (gsize)(strstr(setting, " = ") - setting));

			if (g_strv_contains(taken, key) && !has_key(share->settings, key))
				g_ptr_array_add(share->settings, g_strdup(setting));
		}
		if (!has_key(share->settings, "read only"))
			g_ptr_array_add(share->settings, g_strdup("read only = Yes"));
	}
}

/* NULL: [global], or none at all. */
static struct inventory_share *begin_section(char *line, struct inventory *found, GPtrArray *shares)
{
	char *end = strrchr(line, ']');
	struct inventory_share *share;

	if (!end)
		return NULL;
	*end = '\0';
	if (!strcmp(line + 1, "global"))
		return NULL;
	if (g_strv_contains(special, line + 1)) {
		inventory_note(found, "[%s] of smb.conf is no share of its own: left out",
			       line + 1);
		return NULL;
	}
	share = inventory_share(found, line + 1);
	g_ptr_array_set_size(share->settings, 0);
	g_ptr_array_set_size(share->left, 0);
	g_ptr_array_add(shares, share);
	return share;
}

static void take_lines(char *text, struct inventory *found)
{
	g_autoptr(GPtrArray) shares = g_ptr_array_new();
	g_autoptr(GPtrArray) global = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct inventory_share *share = NULL;
	bool in_global = false;

	for (char **at = lines; *at; at++) {
		char *line = g_strstrip(*at), *equals = strstr(line, " = ");

		if (*line == '[') {
			in_global = g_str_has_prefix(line, "[global]");
			share = begin_section(line, found, shares);
		} else if (equals && (share || in_global)) {
			if (share) {
				*equals = '\0';
				take_setting(share, line, equals + 3);
			} else {
				g_ptr_array_add(global, g_strdup(line));
			}
		}
	}
	complete(shares, global);
}

static void note_unknown(const char *file, const char *complaints, struct inventory *found)
{
	g_auto(GStrv) lines = g_strsplit(complaints, "\n", -1);

	for (char **line = lines; *line; line++) {
		g_autofree char *text = text_line(*line);

		if (g_str_has_prefix(*line, "Unknown parameter") || strstr(*line, "badly formed"))
			inventory_note(found, "%s: testparm: %s", file, text);
	}
}

gboolean smb_conf_read(const char *file, struct inventory *found, GError **error)
{
	char *argv[] = {"testparm", "-s", "--suppress-prompt", (char *)file, NULL};
	g_autofree char *text = NULL, *complaints = NULL;
	g_autoptr(GError) inner = NULL;

	if (!g_file_test(file, G_FILE_TEST_IS_REGULAR))
		return error_set(error, ENOENT, "--smb-conf: %s is no file", file);
	if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, &complaints,
			  NULL, &inner))
		return error_set(error, ENOENT,
				 "--smb-conf: %s; install samba-common-bin, which has "
				 "testparm",
				 inner->message);
	/* its status is of what it thinks of this machine, too */
	if (!strstr(text, "[global]"))
		return error_set(error, EINVAL,
				 "--smb-conf: testparm does not understand %s: run "
				 "testparm -s %s",
				 file, file);
	note_unknown(file, complaints, found);
	take_lines(text, found);
	return TRUE;
}
