/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/touched.h"

#include <string.h>

/* Directories that `touched` tells at a time, and bytes of a path: three times as many must fit
 * into a frame. */
#define TOUCHED_MAX	 32
#define TOUCHED_PATH_MAX 512

/* Takes no note of more than a reply has room for, and of no longer paths. */
void touched_note(struct retriever *retriever, int fd)
{
	g_autofree char *root = NULL, *path = NULL;

	if (!retriever->touched || g_hash_table_size(retriever->touched) >= TOUCHED_MAX)
		return;
	root = retriever_fd_path(retriever->root_fd);
	path = retriever_fd_path(fd);
	const size_t len = strlen(root);
	if (strncmp(path, root, len) != 0 || path[len] != '/')
		return; /* it is not known where it is */
	*strrchr(path, '/') = 0;
	if (strlen(path) - len < TOUCHED_PATH_MAX)
		g_hash_table_add(retriever->touched, g_strdup(path + len + !!path[len]));
}

char *touched_take(struct retriever *retriever)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	GHashTableIter iter;
	gpointer path;
	unsigned n = 0;

	if (!retriever->touched)
		retriever->touched = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_hash_table_iter_init(&iter, retriever->touched);
	while (g_hash_table_iter_next(&iter, &path, NULL)) {
		g_autofree char *key = g_strdup_printf("%u", n++);
		g_autofree char *escaped = g_uri_escape_string(path, "/", FALSE);

		g_key_file_set_string(file, "touched", key, escaped);
	}
	g_hash_table_remove_all(retriever->touched);
	return g_key_file_to_data(file, NULL, NULL);
}
