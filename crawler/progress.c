/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/progress.h"

#include <string.h>

#include "lib/base/text.h"

static uint64_t get_progress_number(GKeyFile *file, const char *group, const char *key)
{
	return g_key_file_get_uint64(file, group, key, NULL);
}

static bool get_progress_flag(GKeyFile *file, const char *group, const char *key)
{
	return g_key_file_get_boolean(file, group, key, NULL);
}

bool progress_report(struct progress *progress, const char *text)
{
	g_autoptr(GKeyFile) file = g_key_file_new();

	if (!g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_NONE, NULL))
		return false;
	g_autofree char *state = g_key_file_get_string(file, "volume", "state", NULL);
	if (!state)
		return false;
	g_strlcpy(progress->state, state, sizeof(progress->state));
	progress->names_complete = get_progress_flag(file, "namespace", "complete");
	progress->paused = get_progress_flag(file, "now", "paused");
	progress->files_found = get_progress_number(file, "counters", "files-found");
	progress->files_whole = get_progress_number(file, "counters", "files-whole");
	progress->bytes_found = get_progress_number(file, "counters", "bytes-found");
	progress->bytes_whole = get_progress_number(file, "counters", "bytes-whole");
	progress->errors = get_progress_number(file, "counters", "errors");
	progress->clients_wait = get_progress_flag(file, "now", "clients-wait");
	progress->away_seconds = get_progress_number(file, "now", "source-away-seconds");
	progress->bytes_per_second = get_progress_number(file, "now", "bytes-per-second");
	progress->files_per_second = g_key_file_get_double(file, "now", "files-per-second", NULL);
	g_autofree char *rest = g_key_file_get_string(file, "rest", "text", NULL);
	g_strlcpy(progress->rest, rest ? rest : "", sizeof(progress->rest));
	return true;
}

static void append_bytes(GString *line, uint64_t bytes)
{
	g_autofree char *text = g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);

	g_string_append(line, text);
}

char *progress_line(const struct progress *progress)
{
	GString *line = g_string_new(NULL);

	g_string_append_printf(line, "files %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT "  ",
			       progress->files_whole, progress->files_found);
	if (progress->bytes_found) {
		append_bytes(line, progress->bytes_whole);
		g_string_append_c(line, '/');
		append_bytes(line, progress->bytes_found);
		g_string_append(line, "  ");
	}
	g_string_append_printf(line, "%.0f files/s  ", progress->files_per_second);
	append_bytes(line, progress->bytes_per_second);
	g_string_append_printf(line, "/s  %s", progress->rest);
	if (progress->paused)
		g_string_append(line, "  paused");
	if (progress->away_seconds)
		g_string_append_printf(line, "  old server away for %" G_GUINT64_FORMAT " s",
				       progress->away_seconds);
	if (progress->errors)
		g_string_append_printf(line, "  %" G_GUINT64_FORMAT " %s", progress->errors,
				       text_plural(progress->errors, "errors"));
	return g_string_free(line, FALSE);
}

bool progress_settings(struct progress_settings *settings, const char *text)
{
	g_autoptr(GKeyFile) file = g_key_file_new();

	memset(settings, 0, sizeof(*settings));
	if (!g_key_file_load_from_data(file, text, (gsize)-1, G_KEY_FILE_NONE, NULL))
		return false;
	settings->root = g_key_file_get_string(file, "settings", "root", NULL);
	settings->order = g_key_file_get_value(file, "settings", "crawler-order", NULL);
	settings->workers = (unsigned)get_progress_number(file, "settings", "crawler-workers");
	if (settings->root && settings->order && settings->workers)
		return true;
	progress_settings_clear(settings);
	return false;
}

void progress_settings_clear(struct progress_settings *settings)
{
	g_clear_pointer(&settings->root, g_free);
	g_clear_pointer(&settings->order, g_free);
}
