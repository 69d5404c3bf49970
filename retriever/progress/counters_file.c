/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/counters_file.h"

#include "lib/base/filetree.h"

#define STATE_FILE "state"

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	{"directories-found", G_STRUCT_OFFSET(struct counters, directories_found)},
	{"directories-whole", G_STRUCT_OFFSET(struct counters, directories_whole)},
	{"unfilled-directories", G_STRUCT_OFFSET(struct counters, unfilled)},
	{"files-found", G_STRUCT_OFFSET(struct counters, files_found)},
	{"files-whole", G_STRUCT_OFFSET(struct counters, files_whole)},
	{"bytes-found", G_STRUCT_OFFSET(struct counters, bytes_found)},
	{"bytes-whole", G_STRUCT_OFFSET(struct counters, bytes_whole)},
	{"bytes-fetched", G_STRUCT_OFFSET(struct counters, bytes_fetched)},
	{"acls-carried", G_STRUCT_OFFSET(struct counters, acls_carried)},
	{"xattrs-carried", G_STRUCT_OFFSET(struct counters, xattrs_carried)},
	{"same", G_STRUCT_OFFSET(struct counters, same)},
	{"left-over", G_STRUCT_OFFSET(struct counters, left_over)},
	{"bytes-corrected", G_STRUCT_OFFSET(struct counters, bytes_corrected)},
	{"made", G_STRUCT_OFFSET(struct counters, made)},
	{"named", G_STRUCT_OFFSET(struct counters, named)},
	{"aside", G_STRUCT_OFFSET(struct counters, aside)},
	{"aside-bytes", G_STRUCT_OFFSET(struct counters, aside_bytes)},
};

static gint64 *counter_field(struct retriever *retriever, size_t i)
{
	return (gint64 *)((char *)&retriever->counters + fields[i].offset);
}

void counters_reset(struct retriever *retriever)
{
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		__atomic_store_n(counter_field(retriever, i), 0, __ATOMIC_RELAXED);
}

void counters_load(struct retriever *retriever)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *path = NULL;

	if (retriever->private_fd < 0)
		return;
	path = g_strdup_printf("/proc/self/fd/%d/" STATE_FILE, retriever->private_fd);
	if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		*counter_field(retriever, i) =
			g_key_file_get_int64(file, "counters", fields[i].key, NULL);
	COUNT_SET(retriever, exact,
		  g_key_file_get_boolean(file, "counters", "clean", NULL) &&
			  g_key_file_get_boolean(file, "counters", "exact", NULL));
}

void counters_save(struct retriever *retriever, bool clean)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *text = NULL;
	gsize len;

	for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
		g_key_file_set_int64(
			file, "counters", fields[i].key,
			__atomic_load_n(counter_field(retriever, i), __ATOMIC_RELAXED));
	g_key_file_set_boolean(file, "counters", "clean", clean);
	g_key_file_set_boolean(file, "counters", "exact", COUNT_GET(retriever, exact));
	text = g_key_file_to_data(file, &len, NULL);
	g_mutex_lock(&retriever->save_lock);
	if (retriever->private_fd >= 0 && g_strcmp0(text, retriever->saved_counters) != 0 &&
	    own_save(retriever->private_fd, STATE_FILE, text, len) == 0) {
		g_free(retriever->saved_counters);
		retriever->saved_counters = g_steal_pointer(&text);
	}
	g_mutex_unlock(&retriever->save_lock);
}
