/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/report/chart.h"

#include "ctl/report/final.h"
#include "ctl/report/html.h"
#include "retriever/progress/history.h"

#define WIDTH  800
#define HEIGHT 200
#define MARGIN 20 /* above and below */
#define BAR    22 /* from one to the next */
#define NAMES  180
#define TEXTS  160

struct chart {
	const GArray *points;
	bool bytes;
	gint64 begin, end, most;
};

static const struct history_point *at_chart(const struct chart *chart, guint i)
{
	return &g_array_index(chart->points, struct history_point, i);
}

static gint64 value(const struct chart *chart, guint i, bool whole)
{
	const struct history_point *p = at_chart(chart, i);

	if (chart->bytes)
		return whole ? p->bytes_whole : p->bytes_found;
	return whole ? p->objects_whole : p->objects_found;
}

static void append_line(GString *html, const struct chart *chart, bool whole)
{
	g_string_append_printf(html, "<polyline class=\"%s\" points=\"", whole ? "whole" : "found");
	for (guint i = 0; i < chart->points->len; i++) {
		double x = (double)(at_chart(chart, i)->time - chart->begin) /
			   (double)MAX(chart->end - chart->begin, 1);
		double y = (double)value(chart, i, whole) / (double)MAX(chart->most, 1);
		char left[G_ASCII_DTOSTR_BUF_SIZE], top[G_ASCII_DTOSTR_BUF_SIZE];

		g_ascii_formatd(left, sizeof left, "%.1f", x * WIDTH);
		g_ascii_formatd(top, sizeof top, "%.1f", MARGIN + HEIGHT * (1 - y));
		g_string_append_printf(html, "%s%s,%s", i ? " " : "", left, top);
	}
	g_string_append(html, "\"/>\n");
}

void chart_append(GString *html, const struct history *history, bool bytes)
{
	struct chart chart = {history ? history->points : NULL, bytes, 0, 0, 0};
	g_autofree char *begin = NULL, *end = NULL, *most = NULL;

	if (!history || chart.points->len < 2) {
		g_string_append(html, "<p>There is no record of the progress.</p>\n");
		return;
	}
	chart.begin = at_chart(&chart, 0)->time;
	chart.end = at_chart(&chart, chart.points->len - 1)->time;
	for (guint i = 0; i < chart.points->len; i++)
		chart.most = MAX(chart.most, MAX(value(&chart, i, false), value(&chart, i, true)));
	begin = final_time(chart.begin);
	end = final_time(chart.end);
	most = bytes ? g_format_size_full(chart.most, G_FORMAT_SIZE_IEC_UNITS)
		     : g_strdup_printf("%" G_GINT64_FORMAT " objects", chart.most);
	g_string_append_printf(html,
			       "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n"
			       "<rect x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
			       WIDTH, HEIGHT + 2 * MARGIN, bytes ? "bytes" : "objects", MARGIN,
			       WIDTH, HEIGHT);
	append_line(html, &chart, false);
	append_line(html, &chart, true);
	g_string_append_printf(
		html,
		"<text x=\"4\" y=\"14\">%s</text>\n<text x=\"0\" y=\"%d\">%s</text>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n</svg>\n",
		most, HEIGHT + 2 * MARGIN - 5, begin, WIDTH, HEIGHT + 2 * MARGIN - 5, end);
}

void chart_bars(GString *html, const char *title, struct chart_bar *bars, unsigned n)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		most = MAX(most, bars[i].value);
	if (most > 0)
		html_add(html, "<svg viewBox=\"0 0 %d %u\" role=\"img\" aria-label=\"%s\">\n",
			 WIDTH, n * BAR, title);
	else
		g_string_append(html, "<p>There are none.</p>\n");
	for (unsigned i = 0; i < n; i++) {
		char width[G_ASCII_DTOSTR_BUF_SIZE];

		g_ascii_formatd(width, sizeof width, "%.1f",
				most > 0 ? bars[i].value / most * (WIDTH - NAMES - TEXTS) : 0);
		if (most > 0)
			html_add(html,
				 "<text x=\"0\" y=\"%u\">%s</text><rect class=\"bar\" x=\"%d\" "
				 "y=\"%u\" width=\"%s\" height=\"%d\"/><text x=\"%d\" y=\"%u\" "
				 "text-anchor=\"end\">%s</text>\n",
				 i * BAR + 15, bars[i].name, NAMES, i * BAR + 3, width, BAR - 6,
				 WIDTH, i * BAR + 15, bars[i].text);
		g_clear_pointer(&bars[i].text, g_free);
	}
	if (most > 0)
		g_string_append(html, "</svg>\n");
}
