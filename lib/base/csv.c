/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/csv.h"

#include <string.h>

void csv_init(struct csv *csv, const char *text)
{
	*csv = (struct csv){.cells = g_ptr_array_new_with_free_func(g_free), .next = 1};
	csv->rest = g_str_has_prefix(text, BYTE_ORDER_MARK) ? text + 3 : text;
}

void csv_clear(struct csv *csv)
{
	g_ptr_array_unref(csv->cells);
}

/* Returns what follows it. */
static const char *read_cell(struct csv *csv, const char *at)
{
	const bool quoted = *at == '"';
	GString *cell = g_string_new(NULL);
	bool open = quoted;

	for (at += quoted; *at && (quoted ? open : !strchr(",\"\r\n", *at)); at++)
		if (*at != '"' || *++at == '"')
			g_string_append_c(cell, *at);
		else
			open = false, at--;
	if (open)
		csv->wrong = "a quotation mark has no other";
	g_ptr_array_add(csv->cells, g_string_free(cell, FALSE));
	return at;
}

bool csv_read(struct csv *csv)
{
	const char *at = csv->rest + strspn(csv->rest, "\r\n");

	for (; csv->rest < at; csv->rest++)
		csv->next += *csv->rest == '\n';
	g_ptr_array_set_size(csv->cells, 0);
	csv->line = csv->next;
	csv->wrong = NULL;
	if (!*at)
		return false;
	for (at = read_cell(csv, at); *at == ',';)
		at = read_cell(csv, at + 1);
	if (*at && *at != '\n' && strncmp(at, "\r\n", 2) != 0)
		csv->wrong = "a quotation mark stands where none may";
	if (csv->wrong)
		at = csv->rest + strcspn(csv->rest, "\n");
	for (; csv->rest < at; csv->rest++)
		csv->next += *csv->rest == '\n';
	return true;
}

void csv_append(GString *out, const char *cell)
{
	g_auto(GStrv) parts = g_strsplit(cell, "\"", -1);
	g_autofree char *doubled = g_strjoinv("\"\"", parts);
	const char *mark = strpbrk(cell, ",\"\r\n") ? "\"" : "";

	g_string_append_printf(out, "%s%s%s%s",
			       out->len && out->str[out->len - 1] != '\n' ? "," : "", mark, doubled,
			       mark);
}
