/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CTL_REPORT_CHART_H
#define CTL_REPORT_CHART_H

#include <glib.h>
#include <stdbool.h>

struct history;

/* Appends a chart, as SVG within HTML, of what was found and what was whole over time: bytes, or
 * objects.  A paragraph instead where there are not two points. */
void chart_append(GString *html, const struct history *history, bool bytes);

/* Bars, one below the other: n names, their values and how these are written.  A paragraph where
 * all values are 0. */
struct chart_bar {
	const char *name;
	double value;
	char *text; /* g_free */
};
void chart_bars(GString *html, const char *title, struct chart_bar *bars, unsigned n);

#endif
