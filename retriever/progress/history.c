/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/progress/history.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/base/filetree.h"

static struct history_point *point_at(struct history *history, guint i)
{
	return &g_array_index(history->points, struct history_point, i);
}

struct history *history_new(void)
{
	struct history *history = g_new0(struct history, 1);

	g_mutex_init(&history->lock);
	history->points = g_array_new(FALSE, FALSE, sizeof(struct history_point));
	history->interval = HISTORY_INTERVAL;
	return history;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	g_array_free(history->points, TRUE);
	g_mutex_clear(&history->lock);
	g_free(history);
}

static bool are_alike(const struct history_point *a, const struct history_point *b)
{
	return a->objects_found == b->objects_found && a->objects_whole == b->objects_whole &&
	       a->bytes_found == b->bytes_found && a->bytes_whole == b->bytes_whole;
}

/* Lock held.  The newest stays. */
static void thin_points(struct history *history)
{
	guint kept = 0, n = history->points->len;

	for (guint i = (n - 1) % 2; i < n; i += 2)
		*point_at(history, kept++) = *point_at(history, i);
	g_array_set_size(history->points, kept);
	history->interval *= 2;
}

/* Lock held.  Where nothing moves, a line has two ends. */
static void append_point(struct history *history, const struct history_point *point)
{
	guint n = history->points->len;

	history->dirty = true;
	if (n >= 2 && are_alike(point_at(history, n - 1), point) &&
	    are_alike(point_at(history, n - 2), point)) {
		*point_at(history, n - 1) = *point;
		return;
	}
	g_array_append_val(history->points, *point);
	if (history->points->len > HISTORY_MAX)
		thin_points(history);
}

void history_add(struct history *history, const struct history_point *point)
{
	guint n;

	g_mutex_lock(&history->lock);
	n = history->points->len;
	if (!n || point->time >= point_at(history, n - 1)->time + history->interval)
		append_point(history, point);
	g_mutex_unlock(&history->lock);
}

char *history_text(struct history *history, size_t *len)
{
	GString *text = g_string_new(NULL);

	g_mutex_lock(&history->lock);
	g_string_append_printf(text, "interval %" G_GINT64_FORMAT "\n", history->interval);
	for (guint i = 0; i < history->points->len; i++) {
		const struct history_point *p = point_at(history, i);

		g_string_append_printf(text,
				       "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT
				       " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n",
				       p->time, p->objects_found, p->objects_whole, p->bytes_found,
				       p->bytes_whole);
	}
	history->dirty = false;
	g_mutex_unlock(&history->lock);
	if (len)
		*len = text->len;
	return g_string_free(text, FALSE);
}

static bool parse_point(const char *line, struct history_point *point)
{
	gint64 value[5];

	for (unsigned i = 0; i < G_N_ELEMENTS(value); i++) {
		char *end;

		value[i] = g_ascii_strtoll(line, &end, 10);
		if (end == line || value[i] < 0 || *end != (i < 4 ? ' ' : '\0'))
			return false;
		line = end + 1;
	}
	*point = (struct history_point){value[0], value[1], value[2], value[3], value[4]};
	return true;
}

void history_parse(struct history *history, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", 2 * HISTORY_MAX);
	struct history_point point;
	gint64 interval = 0;

	if (lines[0] && g_str_has_prefix(lines[0], "interval "))
		interval = g_ascii_strtoll(lines[0] + 9, NULL, 10);
	g_mutex_lock(&history->lock);
	g_array_set_size(history->points, 0);
	history->interval = CLAMP(interval, HISTORY_INTERVAL, G_MAXINT32);
	for (unsigned i = 0; lines[i]; i++) {
		guint n = history->points->len;

		if (parse_point(lines[i], &point) &&
		    (!n || point.time >= point_at(history, n - 1)->time))
			append_point(history, &point);
	}
	history->dirty = false;
	g_mutex_unlock(&history->lock);
}

/* ---- of a volume ----------------------------------------------------------------------------- */

static struct history_point current_point(struct retriever *r)
{
	return (struct history_point){
		.time = g_get_real_time() / G_USEC_PER_SEC,
		.objects_found = COUNT_GET(r, directories_found) + COUNT_GET(r, files_found),
		.objects_whole = COUNT_GET(r, directories_whole) + COUNT_GET(r, files_whole),
		.bytes_found = COUNT_GET(r, bytes_found),
		.bytes_whole = COUNT_GET(r, bytes_whole),
	};
}

void history_sample(struct retriever *retriever)
{
	const struct history_point point = current_point(retriever);

	if (retriever->private_fd >= 0)
		history_add(retriever->history, &point);
}

void history_load(struct retriever *retriever)
{
	g_autofree char *path = NULL, *text = NULL;

	if (retriever->private_fd < 0)
		return;
	path = g_strdup_printf("/proc/self/fd/%d/" HISTORY_FILE, retriever->private_fd);
	if (g_file_get_contents(path, &text, NULL, NULL))
		history_parse(retriever->history, text);
}

void history_save(struct retriever *retriever)
{
	struct history *history = retriever->history;
	g_autofree char *text = NULL;
	size_t len;
	bool dirty;

	/* before the text is made, so that the last one that is stored is the newest */
	g_mutex_lock(&retriever->save_lock);
	g_mutex_lock(&history->lock);
	dirty = history->dirty;
	g_mutex_unlock(&history->lock);
	if (dirty && retriever->private_fd >= 0) {
		text = history_text(history, &len);
		own_save(retriever->private_fd, HISTORY_FILE, text, len);
	}
	g_mutex_unlock(&retriever->save_lock);
}

void history_reset(struct retriever *retriever)
{
	history_parse(retriever->history, "");
}

int history_keep(struct retriever *retriever)
{
	const char *report = retriever->config->report;
	g_autofree char *dir = g_path_get_dirname(report), *name = g_path_get_basename(report);
	g_autofree char *kept = g_strconcat(name, HISTORY_KEPT, NULL), *text = NULL;
	const struct history_point last = current_point(retriever);
	size_t len;
	int fd, ret;

	g_mutex_lock(&retriever->history->lock);
	append_point(retriever->history, &last);
	g_mutex_unlock(&retriever->history->lock);
	text = history_text(retriever->history, &len);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = own_save(fd, kept, text, len);
	close(fd);
	return ret;
}
