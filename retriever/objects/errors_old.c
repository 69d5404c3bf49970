/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors_old.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "retriever/objects/errors_file.h"

/* The number of bytes; 0 when there are more than max. */
static size_t unhex(const char *text, void *bytes, size_t max)
{
	size_t len = strlen(text) / 2;

	if (len > max)
		return 0;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)bytes)[i] = g_ascii_xdigit_value(text[2 * i]) << 4 |
					g_ascii_xdigit_value(text[2 * i + 1]);
	return len;
}

static void load_group(GKeyFile *file, const char *group, struct error_entry *e)
{
	g_autofree char *key = g_key_file_get_string(file, group, "handle", NULL);
	g_autofree char *name = g_key_file_get_string(file, group, "name", NULL);

	e->path = g_key_file_get_string(file, group, "path", NULL);
	e->reason = g_key_file_get_string(file, group, "reason", NULL);
	e->status = -g_key_file_get_integer(file, group, "errno", NULL);
	e->key.type = g_key_file_get_integer(file, group, "type", NULL);
	if (key)
		e->key.len = unhex(key, e->key.bytes, sizeof e->key.bytes);
	if (name) {
		e->name = g_malloc0(NAME_MAX + 1);
		unhex(name, e->name, NAME_MAX);
	}
}

bool errors_old_is(int dir_fd)
{
	int fd = dir_fd < 0 ? -1 : openat(dir_fd, ERRORS_FILE, O_RDONLY | O_CLOEXEC);
	char first = 0;
	bool is = fd >= 0 && read(fd, &first, 1) == 1 && first == '[';

	if (fd >= 0)
		close(fd);
	return is;
}

void errors_old_load(int dir_fd, errors_old_fn found, void *arg)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d/" ERRORS_FILE, dir_fd);
	g_auto(GStrv) groups = NULL;

	if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
		return;
	groups = g_key_file_get_groups(file, NULL);
	for (char **group = groups; *group; group++) {
		struct error_entry e = {.name = NULL};

		load_group(file, *group, &e);
		if (e.path && e.reason)
			found(arg, &e);
		error_entry_clear(&e);
	}
}
