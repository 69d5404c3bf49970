/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/last_error.h"

#include <glib.h>
#include <glib/gstdio.h>

#include "lib/base/text.h"

static char *path_last_error(const char *socket)
{
	return g_strconcat(socket, ".error", NULL);
}

void last_error_set(const char *socket, const char *message)
{
	g_autofree char *path = path_last_error(socket);
	g_autofree char *dir = g_path_get_dirname(path);
	g_autofree char *line = message ? text_line(message) : NULL;

	if (!message) {
		g_unlink(path);
		return;
	}
	g_mkdir_with_parents(dir, 0711);
	g_file_set_contents_full(path, line, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
}

char *last_error_get(const char *socket)
{
	g_autofree char *path = path_last_error(socket), *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text_line(text) : NULL;
}
