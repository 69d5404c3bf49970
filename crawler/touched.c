/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/touched.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "common/migrate.h"

#define ASK_MS	  1000
#define KNOWN_MAX 4096
#define PATHS_MAX 256 /* further ones are told again when a client waits there again */

struct touched_fill {
	struct touched *touched;
	int fd;
};

static void take_touched(struct touched *touched, char *path)
{
	if (g_hash_table_contains(touched->known, path) || touched->paths.length >= PATHS_MAX) {
		g_free(path);
		return;
	}
	if (g_hash_table_size(touched->known) >= KNOWN_MAX)
		g_hash_table_remove_all(touched->known);
	g_hash_table_add(touched->known, g_strdup(path));
	g_queue_push_tail(&touched->paths, path);
}

static void touched_told(void *arg, int status, const char *text)
{
	struct touched *touched = arg;
	g_autoptr(GKeyFile) file = g_key_file_new();

	touched->asked = false;
	/* A retriever of an earlier release does not know it. */
	if (status || !text ||
	    !g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_NONE, NULL))
		return;
	g_auto(GStrv) keys = g_key_file_get_keys(file, "touched", NULL, NULL);
	for (char **key = keys; key && *key; key++) {
		g_autofree char *value = g_key_file_get_value(file, "touched", *key, NULL);
		char *path = g_uri_unescape_string(value, NULL);

		if (path)
			take_touched(touched, path);
	}
}

static void touched_filled(void *arg, int status)
{
	struct touched_fill *fill = arg;

	fill->touched->under_way--;
	close(fill->fd);
	g_free(fill);
}

/* What fails is the walk's, which comes by later. */
static void bring_touched(struct touched *touched, const char *path)
{
	int fd = migrate_open_below(touched->root_fd, *path ? path : ".",
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
				    RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	if (fd < 0)
		return;
	struct touched_fill *fill = g_new(struct touched_fill, 1);
	*fill = (struct touched_fill){touched, fd};
	touched->under_way++;
	if (!migrate_fill_directory(touched->volume, fd, MIGRATE_BACKGROUND | MIGRATE_DATA,
				    touched_filled, fill))
		touched_filled(fill, -errno);
}

void touched_begin(struct touched *touched, int root_fd, struct migrate_volume *volume)
{
	*touched = (struct touched){.volume = volume, .root_fd = root_fd};
	touched->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void touched_end(struct touched *touched)
{
	if (!touched->known)
		return;
	g_queue_clear_full(&touched->paths, g_free);
	g_clear_pointer(&touched->known, g_hash_table_destroy);
}

void touched_step(struct touched *touched, unsigned window, int64_t now_ms)
{
	if (!touched->asked && now_ms >= touched->next_question) {
		touched->next_question = now_ms + ASK_MS;
		touched->asked =
			migrate_control(touched->volume, "touched", touched_told, touched) != 0;
	}
	while (touched->paths.length && touched->under_way < window) {
		g_autofree char *path = g_queue_pop_head(&touched->paths);

		bring_touched(touched, path);
	}
}
