/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/text.h"

#define FIELDS_MAX 10

/* Never to be changed: who watches knows the events by them. */
static const char *const ids[EVENTS] = {
	[EVENT_OBJECT_FAILED] = "7ff32713cfcd4764a490c8570c6f8a21",
	[EVENT_NAME_SKIPPED] = "832002ec643c427d93cc673da05c9bcc",
	[EVENT_WHOLE] = "edbf95dd52044b4783b2358e484bdaeb",
	[EVENT_SOURCE_AWAY] = "289b1696201c47f0aaccc72fc750c533",
	[EVENT_SOURCE_BACK] = "585ab7db81da4f7bb83f599d26c854f6",
	[EVENT_DAMAGED] = "e410071d7edf4f1d9ccb0684c2c15069",
	[EVENT_PEER_REFUSED] = "21ffc1c47b7d4a1dbdf2676bdb43f6b6",
};

static struct {
	const char *program, *volume;
	bool journal; /* standard error is one of its streams */
} here;

struct entry {
	GLogField fields[FIELDS_MAX];
	char *values[FIELDS_MAX]; /* NULL: not ours */
	gsize n;
};

/* value: NULL: no field. */
static void put(struct entry *entry, const char *key, const char *value)
{
	g_return_if_fail(entry->n < FIELDS_MAX);
	if (!value)
		return;
	entry->values[entry->n] = text_line(value);
	entry->fields[entry->n] = (GLogField){key, entry->values[entry->n], -1};
	entry->n++;
}

static void drop_log(struct entry *entry)
{
	for (gsize i = 0; i < entry->n; i++)
		g_free(entry->values[i]);
}

/* The message is the first field. */
static void write_entry(struct entry *entry, const char *priority)
{
	const char *line = entry->fields[0].value;

	put(entry, "PRIORITY", priority);
	put(entry, "SYSLOG_IDENTIFIER", here.program);
	put(entry, "QUICKMIGRATE_VOLUME", here.volume);
	if (!here.journal || g_log_writer_journald(G_LOG_LEVEL_MESSAGE, entry->fields, entry->n,
						   NULL) != G_LOG_WRITER_HANDLED)
		fprintf(stderr, "%s: %s\n", here.program, line);
}

/* As the levels of GLib are numbered there: syslog(3). */
static const char *priority_of(GLogLevelFlags level)
{
	return level & G_LOG_LEVEL_ERROR			      ? "3"
	       : level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING) ? "4"
	       : level & G_LOG_LEVEL_MESSAGE			      ? "5"
	       : level & G_LOG_LEVEL_INFO			      ? "6"
								      : "7";
}

/* Of g_message() and its like: the text is all they have. */
static GLogWriterOutput write_log(GLogLevelFlags level, const GLogField *fields, gsize n,
				  gpointer arg)
{
	struct entry entry = {.n = 0};

	for (gsize i = 0; i < n; i++) {
		if (!strcmp(fields[i].key, "MESSAGE")) {
			g_autofree char *text =
				fields[i].length < 0 ? g_strdup(fields[i].value)
						     : g_strndup(fields[i].value, fields[i].length);

			put(&entry, "MESSAGE", text);
			write_entry(&entry, priority_of(level));
			break;
		}
	}
	drop_log(&entry);
	return G_LOG_WRITER_HANDLED;
}

void log_begin(const char *program, const char *volume)
{
	here.program = program;
	here.volume = volume;
	here.journal = g_log_writer_is_journald(STDERR_FILENO);
	g_log_set_writer_func(write_log, NULL, NULL);
}

void log_failure(const char *message)
{
	struct entry entry = {.n = 0};

	put(&entry, "MESSAGE", message);
	write_entry(&entry, "3");
	drop_log(&entry);
}

void log_event(enum event event, GLogLevelFlags level, const char *path, const char *reason,
	       enum error_code code, int status, const char *format, ...)
{
	struct entry entry = {.n = 0};
	g_autofree char *number = status ? g_strdup_printf("%d", -status) : NULL;
	va_list args;

	va_start(args, format);
	g_autofree char *message = g_strdup_vprintf(format, args);
	va_end(args);
	if (!here.program) {
		g_log(G_LOG_DOMAIN, level, "%s", message);
		return;
	}
	put(&entry, "MESSAGE", message);
	put(&entry, "MESSAGE_ID", ids[event]);
	put(&entry, "QUICKMIGRATE_PATH", path);
	put(&entry, "QUICKMIGRATE_REASON", reason);
	put(&entry, "QUICKMIGRATE_CODE", code ? error_kind(code)->name : NULL);
	put(&entry, "ERRNO", number);
	write_entry(&entry, priority_of(level));
	drop_log(&entry);
}
