/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/html.h"

#include "ctl/report/final.h"

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
	"svg{width:100%;font-size:12px}svg rect{fill:#f6f6f6}svg "
	".bar{fill:#2a7d3f}polyline{fill:none;stroke-width:2}\n"
	".found{stroke:#999;stroke-dasharray:5 4}.whole{stroke:#2a7d3f}\n"
	"code{overflow-wrap:anywhere}\n</style>\n";

void html_add(GString *html, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_markup_vprintf_escaped(format, args);
	va_end(args);
	g_string_append(html, text);
}

void html_fact(GString *html, const char *name, const char *value)
{
	g_autofree char *shown = final_printable(value);

	html_add(html, "<tr><th>%s</th><td>%s</td></tr>\n", name, shown);
}

void html_number(GString *html, const char *name, uint64_t number)
{
	html_add(html, "<tr><td class=\"n\">%" G_GUINT64_FORMAT "</td><td>%s</td></tr>\n", number,
		 name);
}

void html_begin(GString *html, const char *what, const char *name)
{
	g_string_append(html, head);
	html_add(html, "<title>%s%s</title></head><body>\n<h1>%s%s</h1>\n", what, name, what, name);
}
