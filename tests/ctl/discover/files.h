/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that a reader is given. */
#ifndef TESTS_CTL_DISCOVER_FILES_H
#define TESTS_CTL_DISCOVER_FILES_H

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/discover/inventory.h"

typedef gboolean (*reader_fn)(const char *file, struct inventory *found, GError **error);

/* Reads text out of a file. */
static inline gboolean read_text(reader_fn reader, const char *text, struct inventory *found,
				 GError **error)
{
	g_autofree char *file = NULL;
	const int fd = g_file_open_tmp("discover-XXXXXX", &file, NULL);
	const ssize_t n = write(fd, text, strlen(text));
	const gboolean good = n == (ssize_t)strlen(text) && reader(file, found, error);

	close(fd);
	unlink(file);
	return good;
}

/* Whether one of the notes contains words. */
static inline bool noted(const struct inventory *found, const char *words)
{
	for (unsigned i = 0; i < found->notes->len; i++)
		if (strstr(found->notes->pdata[i], words))
			return true;
	return false;
}

#endif
