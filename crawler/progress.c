/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/progress.h"

#include <string.h>

static uint64_t get_progress_number(GKeyFile *file, const char *group, const char *key)
{
	return g_key_file_get_uint64(file, group, key, NULL);
}

static bool get_progress_flag(GKeyFile *file, const char *group, const char *key)
{
	return g_key_file_get_boolean(file, group, key, NULL);
}

bool progress_report(struct progress *progress, const char *text, int64_t now_ms)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	struct progress_sample *sample;

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

	sample = &progress->samples[progress->count++ % PROGRESS_SAMPLES];
	*sample = (struct progress_sample){now_ms, progress->files_whole, progress->bytes_whole};
	return true;
}

/* Per second, over the samples there are. */
static void rates(const struct progress *progress, double *files, double *bytes)
{
	const unsigned count = progress->count;

	*files = *bytes = 0;
	if (count < 2)
		return;
	const struct progress_sample *last = &progress->samples[(count - 1) % PROGRESS_SAMPLES];
	const struct progress_sample *first =
		&progress->samples[count > PROGRESS_SAMPLES ? count % PROGRESS_SAMPLES : 0];
	double seconds = (double)(last->ms - first->ms) / 1000;

	/* A counter that was put right by a verifying walk may have gone back. */
	if (seconds <= 0 || last->files < first->files || last->bytes < first->bytes)
		return;
	*files = (double)(last->files - first->files) / seconds;
	*bytes = (double)(last->bytes - first->bytes) / seconds;
}

int64_t progress_remaining(const struct progress *progress)
{
	const uint64_t files = progress->files_found - progress->files_whole;
	const uint64_t bytes = progress->bytes_found - progress->bytes_whole;
	double per_second_files, per_second_bytes;

	if (!progress->names_complete || progress->files_found < progress->files_whole ||
	    progress->bytes_found < progress->bytes_whole)
		return -1;
	rates(progress, &per_second_files, &per_second_bytes);
	if ((files && per_second_files <= 0) || (bytes && per_second_bytes <= 0))
		return -1;
	/* Small and large files come mixed; what is worse of the two is the better guess. */
	double by_files = files ? (double)files / per_second_files : 0;
	double by_bytes = bytes ? (double)bytes / per_second_bytes : 0;
	double seconds = MAX(by_files, by_bytes);
	return seconds < 1e9 ? (int64_t)(seconds + 0.5) : -1;
}

static void append_bytes(GString *line, uint64_t bytes)
{
	g_autofree char *text = g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);

	g_string_append(line, text);
}

char *progress_line(const struct progress *progress)
{
	GString *line = g_string_new(NULL);
	double files, bytes;

	rates(progress, &files, &bytes);
	g_string_append_printf(line, "files %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT,
			       progress->files_whole, progress->files_found);
	g_string_append(line, "  ");
	append_bytes(line, progress->bytes_whole);
	g_string_append_c(line, '/');
	append_bytes(line, progress->bytes_found);
	g_string_append_printf(line, "  %.0f files/s  ", files);
	append_bytes(line, (uint64_t)bytes);
	g_string_append(line, "/s");

	int64_t left = progress_remaining(progress);
	if (!progress->names_complete)
		g_string_append(line, "  still finding names");
	else if (left >= 0)
		g_string_append_printf(line, "  %d:%02d:%02d left", (int)(left / 3600),
				       (int)(left / 60 % 60), (int)(left % 60));
	if (progress->paused)
		g_string_append(line, "  paused");
	if (progress->away_seconds)
		g_string_append_printf(line, "  old server away for %" G_GUINT64_FORMAT " s",
				       progress->away_seconds);
	if (progress->errors)
		g_string_append_printf(line, "  %" G_GUINT64_FORMAT " errors", progress->errors);
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
