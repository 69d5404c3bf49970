/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/page.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "ctl/report/final.h"
#include "lib/base/text.h"

#define WIDTH  800 /* of a chart */
#define HEIGHT 200
#define BARS   30 /* rows; longer tables have none */

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
	":root{color-scheme:light dark;--good:#2a7d3f;--is-good:#eef7f0;--bad:#b3261e;"
	"--is-bad:#fbeceb;--line:#ddd;--chart:#f6f6f6}\n"
	"@media(prefers-color-scheme:dark){:root{--good:#7cc674;--is-good:#1d2b20;--bad:#ff8d76;"
	"--is-bad:#331f1d;--line:#444;--chart:#1f2328}}\n"
	"body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
	"overflow-wrap:anywhere}\n"
	"h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}h3{font-size:1em}\n"
	".good,.bad{padding:.7em 1em;border-left:.4em solid var(--good);"
	"background:var(--is-good)}\n"
	".bad{border-color:var(--bad);background:var(--is-bad)}\n"
	"table{border-collapse:collapse}td,th{text-align:left;padding:.2em 1.2em .2em 0;"
	"vertical-align:top;unicode-bidi:isolate}\n"
	".n{text-align:right;font-variant-numeric:tabular-nums}"
	"tr+tr{border-top:1px solid var(--line)}\n"
	"svg{width:100%;background:var(--chart)}"
	"polyline{fill:none;stroke:var(--good);stroke-width:2}\n"
	".found{stroke:#999;stroke-dasharray:5 4}\n"
	/* on a phone a row is a card, and each of its cells says what it is */
	"@media(max-width:40em){table,tbody,tr,td,th{display:block}.n{text-align:left}"
	"tr{padding:.4em 0}tr.head{display:none}meter{display:none}"
	"td[data-is]::before{content:attr(data-is) \": \";font-weight:bold}}\n</style>\n";

static void add_members(GString *html, JsonObject *object, unsigned level);

static void page_add(GString *html, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void page_add(GString *html, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_markup_vprintf_escaped(format, args);
	va_end(args);
	g_string_append(html, text);
}

/* A key as words.  g_free. */
static char *key_words(const char *key)
{
	return g_strdelimit(g_strdup(key), "_", ' ');
}

static void add_heading(GString *html, unsigned level, const char *key)
{
	g_autofree char *words = key_words(key);

	page_add(html, "<h%u>%s</h%u>\n", level, words, level);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* g_free. */
static char *scalar_text(const char *key, JsonNode *node)
{
	const GType type = json_node_get_value_type(node);
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	if (type == G_TYPE_STRING)
		return text_printable(json_node_get_string(node));
	if (type == G_TYPE_BOOLEAN)
		return g_strdup(json_node_get_boolean(node) ? "yes" : "no");
	if (type != G_TYPE_DOUBLE && type != G_TYPE_INT64)
		return g_strdup("not known");
	const double real = json_node_get_double(node); /* of an integer, too */
	if (type == G_TYPE_DOUBLE && (real < 1024 || real >= (double)G_MAXINT64))
		return g_strdup(g_ascii_formatd(number, sizeof(number), "%.6g", real));
	const gint64 value = type == G_TYPE_INT64 ? json_node_get_int(node) : (gint64)real;
	if (value < 1024 || !strstr(key, "bytes"))
		return g_strdup_printf("%" G_GINT64_FORMAT, value);
	g_autofree char *size = g_format_size_full((guint64)value, G_FORMAT_SIZE_IEC_UNITS);
	return g_strdup_printf("%" G_GINT64_FORMAT " (%s)", value, size);
}

/* most: the largest of the column, of which the cell shows its part; 0: it shows none.  is: what
 * it is, where nothing beside it says that, or NULL. */
static void add_cell(GString *html, const char *key, const char *is, JsonNode *node, gint64 most)
{
	g_autofree char *text = node ? scalar_text(key, node) : NULL;
	const bool number = node && json_node_get_value_type(node) == G_TYPE_INT64;

	g_string_append(html, number ? "<td class=\"n\"" : "<td");
	if (is && text)
		page_add(html, " data-is=\"%s\"", is);
	page_add(html, ">%s", text ? text : "");
	if (number && most > 0)
		page_add(html,
			 " <meter max=\"%" G_GINT64_FORMAT "\" value=\"%" G_GINT64_FORMAT
			 "\"></meter>",
			 most, json_node_get_int(node));
	g_string_append(html, "</td>");
}

static gint64 largest_of(JsonArray *array, const char *key)
{
	gint64 most = 0;

	for (guint i = 0; i < json_array_get_length(array); i++)
		most = MAX(most, json_object_get_int_member_with_default(
					 json_array_get_object_element(array, i), key, 0));
	return most;
}

/* The keys of the members of all objects, in the order in which they come.  The strings are the
 * array's. */
static GList *keys_of(JsonArray *array)
{
	GList *all = NULL;

	for (guint i = 0; i < json_array_get_length(array); i++) {
		g_autoptr(GList) keys =
			json_object_get_members(json_array_get_object_element(array, i));

		for (GList *key = keys; key; key = key->next)
			if (!g_list_find_custom(all, key->data, (GCompareFunc)strcmp))
				all = g_list_append(all, key->data);
	}
	return all;
}

/* Objects as rows. */
static void add_rows(GString *html, JsonArray *array)
{
	g_autoptr(GList) keys = keys_of(array);
	const guint n = json_array_get_length(array);

	g_string_append(html, "<table>\n<tr class=\"head\">");
	for (GList *key = keys; key; key = key->next) {
		g_autofree char *words = key_words(key->data);

		page_add(html, "<th>%s</th>", words);
	}
	g_string_append(html, "</tr>\n");
	for (guint i = 0; i < n; i++) {
		g_string_append(html, "<tr>");
		for (GList *key = keys; key; key = key->next) {
			g_autofree char *words = key_words(key->data);

			add_cell(html, key->data, words,
				 json_object_get_member(json_array_get_object_element(array, i),
							key->data),
				 n <= BARS ? largest_of(array, key->data) : 0);
		}
		g_string_append(html, "</tr>\n");
	}
	g_string_append(html, "</table>\n");
}

/* ---- charts ---------------------------------------------------------------------------------- */

static void add_line(GString *html, JsonArray *points, guint column, gint64 most, const char *class)
{
	const guint n = json_array_get_length(points);
	const gint64 begin = json_array_get_int_element(json_array_get_array_element(points, 0), 0);
	const gint64 end =
		json_array_get_int_element(json_array_get_array_element(points, n - 1), 0);

	g_string_append_printf(html, "<polyline class=\"%s\" points=\"", class);
	for (guint i = 0; i < n; i++) {
		JsonArray *point = json_array_get_array_element(points, i);
		const double x = (double)(json_array_get_int_element(point, 0) - begin) /
				 (double)MAX(end - begin, 1);
		const double y =
			(double)json_array_get_int_element(point, column) / (double)MAX(most, 1);

		g_string_append_printf(html, "%d,%d ", (int)(x * WIDTH), (int)(HEIGHT * (1 - y)));
	}
	g_string_append(html, "\"/>\n");
}

static void add_chart(GString *html, JsonArray *points, guint column, const char *what)
{
	const guint n = json_array_get_length(points);
	gint64 most = 0;

	for (guint i = 0; i < n; i++)
		for (guint k = column; k < column + 2; k++)
			most = MAX(most, json_array_get_int_element(
						 json_array_get_array_element(points, i), k));
	g_autofree char *begin =
		final_time(json_array_get_int_element(json_array_get_array_element(points, 0), 0));
	g_autofree char *end = final_time(
		json_array_get_int_element(json_array_get_array_element(points, n - 1), 0));
	page_add(html,
		 "<p>%s found (dashed) and whole, %s to %s, up to %" G_GINT64_FORMAT
		 "</p>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
		 what, begin, end, most, WIDTH, HEIGHT, what);
	add_line(html, points, column, most, "found");
	add_line(html, points, column + 1, most, "whole");
	g_string_append(html, "</svg>\n");
}

/* ---- all ------------------------------------------------------------------------------------- */

static void add_array(GString *html, JsonArray *array)
{
	const guint n = json_array_get_length(array);
	const JsonNodeType type =
		n ? json_node_get_node_type(json_array_get_element(array, 0)) : JSON_NODE_NULL;

	if (type == JSON_NODE_OBJECT)
		add_rows(html, array);
	else if (type == JSON_NODE_ARRAY) {
		add_chart(html, array, 1, "Objects");
		add_chart(html, array, 3, "Bytes");
	} else if (!n)
		g_string_append(html, "<p>none</p>\n");
	for (guint i = 0; type == JSON_NODE_VALUE && i < n; i++) {
		g_autofree char *text = scalar_text("", json_array_get_element(array, i));

		page_add(html, "<p>%s</p>\n", text);
	}
}

/* An object with "total", and the "first" of its lines. */
static void add_list(GString *html, const char *key, JsonObject *object, unsigned level)
{
	g_autofree char *words =
		key_words(json_object_get_string_member_with_default(object, "what", key));
	JsonArray *first = json_object_get_array_member(object, "first");
	const gint64 total = json_object_get_int_member(object, "total");

	page_add(html, "<h%u>%s: %" G_GINT64_FORMAT "</h%u>\n", level, words, total, level);
	if (json_array_get_length(first))
		add_rows(html, first);
	if (json_array_get_length(first) && total > json_array_get_length(first))
		page_add(html, "<p>These are the first %u.</p>\n", json_array_get_length(first));
}

static void add_member(GString *html, const char *key, JsonNode *node, unsigned level)
{
	JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;

	if (object && json_object_has_member(object, "first")) {
		add_list(html, key, object, level);
		return;
	}
	add_heading(html, level, key);
	if (object)
		add_members(html, object, level + 1);
	else
		add_array(html, json_node_get_array(node));
}

static void add_members(GString *html, JsonObject *object, unsigned level)
{
	g_autoptr(GList) keys = json_object_get_members(object);

	g_string_append(html, "<table>\n");
	for (GList *key = keys; key; key = key->next) {
		JsonNode *node = json_object_get_member(object, key->data);
		g_autofree char *words = key_words(key->data);

		if (JSON_NODE_HOLDS_OBJECT(node) || JSON_NODE_HOLDS_ARRAY(node))
			continue;
		page_add(html, "<tr><th>%s</th>", words);
		add_cell(html, key->data, NULL, node, 0);
		g_string_append(html, "</tr>\n");
	}
	g_string_append(html, "</table>\n");
	for (GList *key = keys; key; key = key->next) {
		JsonNode *node = json_object_get_member(object, key->data);

		if (JSON_NODE_HOLDS_OBJECT(node) || JSON_NODE_HOLDS_ARRAY(node))
			add_member(html, key->data, node, level);
	}
}

char *page_of_json(const char *title, bool good, const char *verdict, const char *json)
{
	g_autoptr(JsonNode) root = json_from_string(json, NULL); /* NULL: it is no UTF-8 */
	g_autofree char *shown = text_printable(verdict);
	GString *html = g_string_new(head);

	page_add(html,
		 "<title>%s</title></head><body>\n<h1>%s</h1>\n<p class=\"%s\">%s.</p>\n"
		 "<p>Times are in seconds, sizes in bytes.</p>\n",
		 title, title, good ? "good" : "bad", shown);
	if (root)
		add_members(html, json_node_get_object(root), 2);
	else
		g_string_append(html, "<p>This page could not be made: see the text.</p>\n");
	g_string_append(html, "</body></html>\n");
	return g_string_free(html, FALSE);
}
