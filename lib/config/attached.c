/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/attached.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/migrate.h"
#include "lib/config/config_file.h"
#include "lib/config/config_places.h"

#define SUFFIX ".attached"
#define ENDS   "ends\n" /* the second line */

static char *note_path(const char *name)
{
	return g_strconcat(REPORT_DIR "/", name, SUFFIX, NULL);
}

static bool is_clustered(const char *name)
{
	g_autofree char *path = g_strconcat(REPORT_DIR "/", name, ".cluster", NULL);

	return access(path, F_OK) == 0;
}

/* end: its last lines; NULL: there is to be none. */
static int write_note(const struct volume_config *config, const char *end)
{
	g_autofree char *path = note_path(config->name), *before = NULL;
	g_autofree char *text = g_strconcat(config->root, "\n", end, NULL);
	g_autoptr(GError) error = NULL;

	if (!config->installed)
		return 0;
	if (!end || is_clustered(config->name))
		return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
	if (g_file_get_contents(path, &before, NULL, NULL) && !strcmp(before, text))
		return 0;
	if (g_mkdir_with_parents(REPORT_DIR, 0755) < 0)
		return -errno;
	errno = 0;
	if (g_file_set_contents_full(path, text, -1,
				     G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
				     0600, &error))
		return 0;
	return errno ? -errno : -EIO;
}

int attached_note(const struct volume_config *config, bool attached)
{
	return write_note(config, attached ? "" : NULL);
}

int attached_note_end(const struct volume_config *config)
{
	return write_note(config, ENDS);
}

static bool has_private(const char *root)
{
	g_autofree char *path = g_build_filename(root, MIGRATE_PRIVATE_DIR, NULL);

	return access(path, F_OK) == 0;
}

char *attached_root(const char *name)
{
	g_autofree char *path = note_path(name), *root = NULL;
	bool ends;

	if (!config_name_ok(name) || is_clustered(name) ||
	    !g_file_get_contents(path, &root, NULL, NULL))
		return NULL;
	ends = g_str_has_suffix(root, "\n" ENDS);
	root[strcspn(root, "\n")] = '\0';
	return *root == '/' && !(ends && !has_private(root)) ? g_steal_pointer(&root) : NULL;
}

static bool is_among(const GPtrArray *names, const char *name, const char *root)
{
	for (guint i = 0; i < names->len; i++) {
		const struct volume_name *volume = names->pdata[i];

		if (!strcmp(volume->name, name) && !g_strcmp0(volume->root, root))
			return true;
	}
	return false;
}

GPtrArray *attached_add(GPtrArray *names)
{
	GPtrArray *list = names ? names : config_names_new();
	g_autoptr(GDir) dir = g_dir_open(REPORT_DIR, 0, NULL);
	const char *entry;

	while (dir && (entry = g_dir_read_name(dir))) {
		g_autofree char *name = g_str_has_suffix(entry, SUFFIX)
						? g_strndup(entry, strlen(entry) - strlen(SUFFIX))
						: NULL;
		g_autofree char *root = name ? attached_root(name) : NULL;

		if (!root || is_among(list, name, root))
			continue;
		struct volume_name *volume = g_new0(struct volume_name, 1);

		volume->name = g_steal_pointer(&name);
		volume->root = g_steal_pointer(&root);
		g_ptr_array_add(list, volume);
	}
	return list;
}

struct volume_config *attached_config(const char *name)
{
	char *root = attached_root(name);
	struct volume_config *config = root ? g_new0(struct volume_config, 1) : NULL;

	if (!config)
		return NULL;
	config->name = g_strdup(name);
	config->root = root;
	config->socket = g_strdup_printf(SOCKET_OF, name);
	config->guard_wait = 1;
	return config;
}
