/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/ontap.h"

#include <stdbool.h>
#include <string.h>

#define COLUMNS_MAX 32
#define HEAD_MAX    4 /* lines of headings */

struct reader {
	GPtrArray *records;
	ontap_bad_fn bad;
	void *arg;
	unsigned line;
	/* lines that may turn out to be headings */
	const char *head[HEAD_MAX];
	unsigned n_head;
	/* a table, if columns > 0 */
	unsigned columns;
	size_t from[COLUMNS_MAX];
	char *keys[COLUMNS_MAX];
	/* what lines without a key of their own go on with */
	struct ontap_record *record;
	char *key;
};

static void free_record(void *data)
{
	struct ontap_record *record = data;

	g_hash_table_unref(record->fields);
	g_free(record);
}

static void append_key(GString *key, const char *text, size_t len)
{
	for (size_t i = 0; i < len && text[i]; i++)
		if (g_ascii_isalnum(text[i]))
			g_string_append_c(key, g_ascii_tolower(text[i]));
}

/* Adds a line to a field. */
static void add_value(struct ontap_record *record, const char *key, const char *text, size_t len)
{
	g_autofree char *value = g_strstrip(g_strndup(text, len));
	const char *before = g_hash_table_lookup(record->fields, key);

	if (*value && *key)
		g_hash_table_replace(record->fields, g_strdup(key),
				     before ? g_strdup_printf("%s\n%s", before, value)
					    : g_strdup(value));
}

static struct ontap_record *begin_record(struct reader *reader)
{
	struct ontap_record *record = g_new0(struct ontap_record, 1);

	record->line = reader->line;
	record->fields = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_ptr_array_add(reader->records, record);
	reader->record = record;
	return record;
}

/* What was kept as headings was none. */
static void drop_head(struct reader *reader)
{
	for (unsigned i = 0; i < reader->n_head; i++)
		reader->bad(reader->arg, reader->line - reader->n_head + i, reader->head[i]);
	reader->n_head = 0;
}

static void end_block(struct reader *reader)
{
	drop_head(reader);
	for (unsigned i = 0; i < reader->columns; i++)
		g_free(reader->keys[i]);
	reader->columns = 0;
	reader->record = NULL;
	g_clear_pointer(&reader->key, g_free);
}

/* Dashes under headings: each run of them is a column. */
static void begin_table(struct reader *reader, const char *dashes)
{
	for (size_t at = strspn(dashes, " "); dashes[at] && reader->columns < COLUMNS_MAX;) {
		const size_t len = strspn(dashes + at, "-");
		g_autoptr(GString) key = g_string_new("");

		for (unsigned i = 0; i < reader->n_head; i++)
			if (strlen(reader->head[i]) > at)
				append_key(key, reader->head[i] + at, len);
		reader->from[reader->columns] = at;
		reader->keys[reader->columns++] = g_strdup(key->str);
		at += len + strspn(dashes + at + len, " ");
	}
	reader->n_head = 0;
	reader->record = NULL;
}

static void take_row(struct reader *reader, const char *line)
{
	const size_t len = strlen(line);

	/* what is wider than its column may be anything */
	for (unsigned i = 1; i < reader->columns; i++) {
		if (len <= reader->from[i] || line[reader->from[i] - 1] == ' ')
			continue;
		reader->bad(reader->arg, reader->line, line);
		reader->record = NULL;
		return;
	}
	const size_t blanks = strspn(line, " ");
	const bool continued = blanks > reader->from[0];
	if (blanks < reader->from[0] || (continued && !reader->record)) {
		reader->bad(reader->arg, reader->line, line);
		return;
	}
	struct ontap_record *record = continued ? reader->record : begin_record(reader);
	for (unsigned i = 0; i < reader->columns && len > reader->from[i]; i++)
		add_value(record, reader->keys[i], line + reader->from[i],
			  i + 1 < reader->columns ? reader->from[i + 1] - reader->from[i] : len);
}

/* "Key: value", or what goes on with one.  Whether it is. */
static bool take_field(struct reader *reader, const char *line)
{
	const char *colon = strstr(line, ": ");
	const size_t len = strlen(line);

	if (!colon && len && line[len - 1] == ':')
		colon = line + len - 1;
	if (!colon && reader->key && *line == ' ') {
		add_value(reader->record, reader->key, line, len);
		return true;
	}
	if (!colon)
		return false;
	g_autoptr(GString) key = g_string_new("");
	append_key(key, line, (size_t)(colon - line));
	drop_head(reader);
	if (!reader->record || g_hash_table_contains(reader->record->fields, key->str))
		begin_record(reader);
	g_free(reader->key);
	reader->key = g_strdup(key->str);
	add_value(reader->record, key->str, colon + 1, len);
	return true;
}

/* "cluster::vserver cifs> share show"; addresses have "::" as well. */
static bool is_prompt(const char *line)
{
	const char *colons = strstr(line, "::");

	return colons && strchr(colons, '>');
}

static void take_line(struct reader *reader, const char *line)
{
	const size_t blanks = strspn(line, " \t\r");

	if (!line[blanks] || is_prompt(line) || strstr(line, " displayed.") ||
	    g_str_has_prefix(line, "Press <space>")) {
		end_block(reader);
	} else if (!reader->columns && strspn(line, "- \r") == strlen(line) && strstr(line, "--") &&
		   reader->n_head) {
		begin_table(reader, line);
	} else if (reader->columns) {
		take_row(reader, line);
	} else if (!take_field(reader, line)) {
		if (reader->n_head == HEAD_MAX)
			drop_head(reader);
		reader->head[reader->n_head++] = line;
	}
}

GPtrArray *ontap_read(const char *text, ontap_bad_fn bad, void *arg)
{
	struct reader reader = {
		.records = g_ptr_array_new_with_free_func(free_record), .bad = bad, .arg = arg};
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (unsigned i = 0; lines[i]; i++) {
		reader.line = i + 1;
		take_line(&reader, g_strchomp(lines[i]));
	}
	reader.line++;
	end_block(&reader);
	return reader.records;
}

const char *ontap_get(const struct ontap_record *record, ...)
{
	const char *key, *value = NULL;
	va_list ap;

	va_start(ap, record);
	while (!value && (key = va_arg(ap, const char *)))
		value = g_hash_table_lookup(record->fields, key);
	va_end(ap);
	return value && strcmp(value, "-") ? value : "";
}
