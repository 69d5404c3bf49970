/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/source_windows.h"

static void stream_clear(gpointer p)
{
	struct source_stream *stream = p;

	g_free(stream->name);
	g_free(stream->data);
}

struct source_windows *source_windows_new(void)
{
	struct source_windows *windows = g_new0(struct source_windows, 1);

	windows->streams = g_array_new(FALSE, FALSE, sizeof(struct source_stream));
	g_array_set_clear_func(windows->streams, stream_clear);
	return windows;
}

void source_windows_free(struct source_windows *windows)
{
	if (!windows)
		return;
	g_array_unref(windows->streams);
	g_free(windows->sd);
	g_free(windows);
}

void source_windows_add_stream(struct source_windows *windows, const char *name, uint64_t size,
			       const void *data)
{
	struct source_stream stream = {g_strdup(name), size, NULL};

	if (data)
		stream.data = g_memdup2(size ? data : "", size ? size : 1);
	g_array_append_val(windows->streams, stream);
}
