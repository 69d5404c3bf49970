/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page.h"

#include "report/chart.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
	"body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}\n"
	"h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}\n"
	".good,.bad{padding:.7em 1em;border-left:.4em solid #2a7d3f;background:#eef7f0}\n"
	".bad{border-color:#b3261e;background:#fbeceb}\n"
	"table{border-collapse:collapse}td,th{text-align:left;padding:.2em 1.2em .2em 0;"
	"vertical-align:top;overflow-wrap:anywhere}\n"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}tr+tr{border-top:1px solid #ddd}\n"
	"svg{width:100%;font-size:12px}svg rect{fill:#f6f6f6}polyline{fill:none;stroke-width:2}\n"
	".found{stroke:#999;stroke-dasharray:5 4}.whole{stroke:#2a7d3f}\n"
	"code{overflow-wrap:anywhere}\n</style>\n";

/* A format of markup with values of text. */
static void add(GString *html, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void add(GString *html, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_markup_vprintf_escaped(format, args);
	va_end(args);
	g_string_append(html, text);
}

static void add_fact(GString *html, const char *name, const char *value)
{
	g_autofree char *shown = final_printable(value);

	add(html, "<tr><th>%s</th><td>%s</td></tr>\n", name, shown);
}

static void add_number(GString *html, const char *name, uint64_t number)
{
	add(html, "<tr><td class=\"n\">%" G_GUINT64_FORMAT "</td><td>%s</td></tr>\n", number, name);
}

static void add_head(GString *html, const struct final *final)
{
	g_autofree char *verdict = final_verdict(final), *made = final_time(final->made);
	g_autofree char *contents = final_contents(final);

	g_string_append(html, head);
	add(html, "<title>Migration of %s</title></head><body>\n<h1>Migration of %s</h1>\n",
	    final->volume, final->volume);
	add(html, "<p class=\"%s\">%s.</p>\n<p>%s.</p>\n<table>\n",
	    final_is_complete(final) ? "good" : "bad", verdict, contents);
	add_fact(html, "Old server", final->source);
	add_fact(html, "New server", final->server);
	add_fact(html, "Root", final->root);
	add_fact(html, "State", final->state);
	add_fact(html, "Made", made);
	add_fact(html, "By", final->version);
	g_string_append(html, "</table>\n");
}

static void add_objects(GString *html, const struct final *final)
{
	g_autofree char *sums = final_sums(final);

	g_string_append(html, "<h2>Every object</h2>\n<table>\n");
	for (unsigned i = 0; i < PROOF_STATUS_COUNT; i++)
		if (i != PROOF_MADE && (final->count.status[i] || i == PROOF_SAME))
			add_number(html, final_status_title(i), final->count.status[i]);
	if (final->unlisted)
		add_number(html, FINAL_UNLISTED, final->unlisted);
	add(html,
	    "<tr><th class=\"n\">%" G_GUINT64_FORMAT "</th><th>%s</th></tr>\n</table>\n"
	    "<table>\n",
	    final_old_objects(final), final_sum_title(final));
	add_number(html, final_status_title(PROOF_MADE), final->count.status[PROOF_MADE]);
	g_string_append(html, "</table>\n");
	if (*sums)
		add(html, "<p class=\"bad\">The sums do NOT add up: %s.</p>\n", sums);
	else
		g_string_append(html, "<p>The sums add up.</p>\n");
}

static void add_list(GString *html, const struct final_list *list, const char *title)
{
	add(html, "<h2>%s: %" G_GUINT64_FORMAT "</h2>\n", title, list->total);
	if (!list->total)
		return;
	g_string_append(html, "<table>\n");
	for (guint i = 0; i < list->first->len; i++) {
		const struct final_line *line = g_ptr_array_index(list->first, i);

		add(html, "<tr><td><code>%s</code></td><td>%s</td></tr>\n", line->path, line->what);
	}
	g_string_append(html, "</table>\n");
	if (list->total > list->first->len)
		add(html, "<p>And %" G_GUINT64_FORMAT " more, which the text has.</p>\n",
		    list->total - list->first->len);
}

char *final_page(const struct final *final)
{
	GString *html = g_string_new(NULL);

	add_head(html, final);
	add_objects(html, final);
	g_string_append(html, "<h2>Progress: bytes found (dashed) and whole</h2>\n");
	chart_append(html, final->history, true);
	g_string_append(html, "<h2>Progress: objects found (dashed) and whole</h2>\n");
	chart_append(html, final->history, false);
	for (unsigned i = 0; i < FINAL_KINDS; i++)
		add_list(html, &final->lists[i], final_kind_title(i));
	add(html,
	    "<h2>How to check this</h2>\n<p><code>migratectl report --check "
	    "%s-report.json</code> verifies the signature, this page and the manifest.</p>\n"
	    "</body></html>\n",
	    final->volume);
	return g_string_free(html, FALSE);
}
