/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/errors_entry.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/report/losses.h"

enum { CHANGE, OBJECT, NAME, ERRNO, REASON, PATH, SINCE, FIELDS };

void error_entry_clear(struct error_entry *entry)
{
	g_clear_pointer(&entry->name, g_free);
	g_clear_pointer(&entry->path, g_free);
	g_clear_pointer(&entry->reason, g_free);
}

static void append_hex(GString *line, uint8_t byte)
{
	static const char digits[] = "0123456789abcdef";

	g_string_append_c(line, digits[byte >> 4]);
	g_string_append_c(line, digits[byte & 15]);
}

static void append_key(GString *line, const struct migrate_binding *key)
{
	g_string_append_c(line, '\t');
	append_hex(line, key->type);
	for (size_t i = 0; i < key->len; i++)
		append_hex(line, key->bytes[i]);
}

static void append_text(GString *line, const char *text)
{
	g_autofree char *escaped = loss_escape(text);

	g_string_append_c(line, '\t');
	g_string_append(line, escaped);
}

char *error_entry_line(enum error_change change, const struct error_entry *entry)
{
	GString *line = g_string_new(NULL);

	g_string_append_c(line, (char)change);
	if (change != ERROR_ALL)
		append_key(line, &entry->key);
	if (change == ERROR_ADD || change == ERROR_FORGET)
		append_text(line, entry->name ? entry->name : "");
	if (change == ERROR_ADD) {
		g_string_append_printf(line, "\t%d %u", -entry->status, entry->code);
		append_text(line, entry->reason);
		append_text(line, entry->path);
		if (entry->since > 0)
			g_string_append_printf(line, "\t%" G_GINT64_FORMAT, entry->since);
	}
	g_string_append_c(line, '\n');
	return g_string_free(line, FALSE);
}

/* For an object whose handle could not be read, only the type is there. */
static bool parse_key(const char *text, struct migrate_binding *key)
{
	uint8_t bytes[1 + sizeof key->bytes];
	size_t len = strlen(text) / 2;

	if (len < 1 || len > sizeof bytes || strspn(text, "0123456789abcdef") != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(g_ascii_xdigit_value(text[2 * i]) << 4 |
				     g_ascii_xdigit_value(text[2 * i + 1]));
	*key = (struct migrate_binding){.type = bytes[0], .len = (uint8_t)(len - 1)};
	memcpy(key->bytes, bytes + 1, key->len);
	return true;
}

/* Of the field ERRNO; else the one whose sentence an earlier release wrote, which had no remedy for
 * some. */
static enum error_code parse_code(const char *field, const char *reason)
{
	const char *space = strchr(field, ' ');
	const unsigned number = space ? (unsigned)strtoul(space, NULL, 10) : 0;

	for (unsigned i = 0; i < ERROR_KINDS; i++)
		if (space ? error_kinds[i].code == number
			  : !strcmp(error_kinds[i].sentence, reason) ||
				    !strcmp(error_kinds[i].cause, reason))
			return error_kinds[i].code;
	return !space && !strcmp(reason, "no space on the new server's file system") ? QM_NO_SPACE
										     : QM_UNCODED;
}

static unsigned fields_of(int change)
{
	switch (change) {
	case ERROR_ADD:
		return SINCE;
	case ERROR_FORGET:
		return NAME + 1;
	case ERROR_NAMES:
		return OBJECT + 1;
	default:
		return change == ERROR_ALL ? CHANGE + 1 : 0;
	}
}

int error_entry_parse(const char *line, struct error_entry *entry)
{
	g_autofree char *copy = g_strndup(line, strcspn(line, "\n"));
	g_auto(GStrv) field = g_strsplit(copy, "\t", -1);
	unsigned n = g_strv_length(field);
	gint64 since = 0;

	*entry = (struct error_entry){.name = NULL};
	if (n == FIELDS && *field[CHANGE] == ERROR_ADD &&
	    g_ascii_string_to_signed(field[SINCE], 10, 1, G_MAXINT64, &since, NULL))
		n--;
	if (!n || !field[CHANGE][0] || field[CHANGE][1] || n != fields_of(field[CHANGE][0]))
		return 0;
	if (n > OBJECT && !parse_key(field[OBJECT], &entry->key))
		return 0;
	if (n > NAME && *field[NAME])
		entry->name = g_strcompress(field[NAME]);
	if (n > ERRNO) {
		entry->status = -atoi(field[ERRNO]);
		entry->reason = g_strcompress(field[REASON]);
		entry->code = parse_code(field[ERRNO], entry->reason);
		entry->path = g_strcompress(field[PATH]);
		entry->since = since;
	}
	return field[CHANGE][0];
}

static bool is_path_below(const char *path, const char *directory)
{
	g_autofree char *line = text_line(path);
	size_t len = strlen(directory);

	while (len && directory[len - 1] == '/')
		len--;
	return !strncmp(line, directory, len) && (!line[len] || line[len] == '/');
}

bool errors_filter_take(struct errors_filter *filter, const char *line)
{
	const struct error_kind *kind;

	if (g_str_has_prefix(line, "reason "))
		filter->reason = line + strlen("reason ");
	else if (g_str_has_prefix(line, "below "))
		filter->below = line + strlen("below ");
	else if (g_str_has_prefix(line, "code ") &&
		 (kind = error_kind_named(line + strlen("code "))))
		filter->code = kind->code;
	else
		return false;
	return true;
}

static bool is_reason(const char *reason, const struct errors_filter *filter)
{
	g_autofree char *shown = filter->whole ? text_line(reason) : NULL;

	return filter->whole ? !strcmp(reason, filter->reason) || !strcmp(shown, filter->reason)
			     : strstr(reason, filter->reason) != NULL;
}

bool error_entry_matches(const struct error_entry *entry, const struct errors_filter *filter)
{
	return (!filter->code || filter->code == entry->code) &&
	       (!filter->reason || is_reason(entry->reason, filter)) &&
	       (!filter->below || is_path_below(entry->path, filter->below));
}
