/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/control_errors.h"

#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "retriever/objects/errors.h"

#define ERRORS_PAGE 100

/* Whether an entry of the list is over: the object has not failed any more, or the directory of the
 * name is filled. */
static bool is_over(int fd, bool name)
{
	struct migrate_record rec;
	int ret = migrate_record_load(fd, &rec);
	bool filled = ret > 0 && rec.state == MIGRATE_FILLED;

	if (ret > 0)
		migrate_record_clear(&rec);
	return ret == 0 || (name && filled);
}

/* Whether clients have removed the object (or the name's directory), and so what was wrong; or it
 * became whole while it was listed. */
static bool is_object_gone(struct retriever *r, const struct error_entry *e)
{
	struct stat st;
	bool gone;
	int fd;

	if (!e->key.len)
		return false;
	fd = retriever_open_binding(r, &e->key, O_PATH);
	if (fd < 0)
		return fd == -ESTALE;
	gone = (fstat(fd, &st) == 0 && st.st_nlink == 0) || is_over(fd, e->name != NULL);
	close(fd);
	return gone;
}

static void set_reason(GKeyFile *f, const char *group, const char *reason, enum error_code code,
		       int status, gint64 since)
{
	g_key_file_set_string(f, group, "reason", reason);
	g_key_file_set_string(f, group, "code", error_kind(code)->name);
	g_key_file_set_integer(f, group, "errno", -status);
	g_key_file_set_int64(f, group, "since", since);
}

static void list_errors(struct retriever *r, guint place, const struct errors_filter *filter,
			GKeyFile *f)
{
	struct error_entry e;
	guint n = 0;
	bool more;

	while ((more = errors_get(r->errors, &place, filter, &e)) && n < ERRORS_PAGE) {
		if (is_object_gone(r, &e)) {
			errors_forget_name(r->errors, &e.key, e.name);
		} else {
			g_autofree char *group = g_strdup_printf("error %u", place);

			g_key_file_set_string(f, group, "path", e.path);
			set_reason(f, group, e.reason, e.code, e.status, e.since);
			n++;
		}
		error_entry_clear(&e);
		place++;
	}
	if (more)
		error_entry_clear(&e);
	g_key_file_set_int64(f, "errors", "total", errors_count(r->errors));
	g_key_file_set_int64(f, "errors", "next", more ? (gint64)place : -1);
}

static void list_reasons(struct retriever *r, guint place, GKeyFile *f)
{
	struct error_reason reason;
	guint n = 0;
	bool more;

	while ((more = errors_get_reason(r->errors, &place, &reason)) && n++ < ERRORS_PAGE) {
		g_autofree char *group = g_strdup_printf("reason %u", place);

		set_reason(f, group, reason.text ? reason.text : "other reasons", reason.code,
			   reason.status, reason.since);
		g_key_file_set_int64(f, group, "count", reason.count);
		g_free(reason.text);
		place++;
	}
	if (more)
		g_free(reason.text);
	g_key_file_set_int64(f, "errors", "total", errors_count(r->errors));
	g_key_file_set_int64(f, "errors", "next", more ? (gint64)place : -1);
}

int control_errors(struct retriever *r, const char *argument, char **text)
{
	g_autoptr(GKeyFile) f = g_key_file_new();
	g_auto(GStrv) lines = g_strsplit(argument ? argument : "0", "\n", -1);
	struct errors_filter filter = {NULL};
	bool summary = lines[0] && g_str_has_prefix(lines[0], "summary ");

	for (char **line = lines; *line; line++)
		errors_filter_take(&filter, *line);
	if (summary)
		list_reasons(r, strtoul(lines[0] + strlen("summary "), NULL, 10), f);
	else
		list_errors(r, lines[0] ? strtoul(lines[0], NULL, 10) : 0, &filter, f);
	*text = g_key_file_to_data(f, NULL, NULL);
	return 0;
}
