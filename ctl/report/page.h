/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes one page of HTML for people from a report in JSON.  The page needs nothing else: no script,
 * no link, nothing from the network.  Whatever stands in the JSON is shown as text.
 */
#ifndef CTL_REPORT_PAGE_H
#define CTL_REPORT_PAGE_H

#include <glib.h>
#include <stdbool.h>

/*
 * json: an object.  Its scalar members become a table; objects and arrays become parts with
 * headings of their own: an array of objects is a table, an array of arrays (time in seconds since
 * 1970, objects found and whole, bytes found and whole) two charts, an object with "total" and
 * "first" a list.  verdict: one line, above everything; good: it is green.  g_free.
 */
char *page_of_json(const char *title, bool good, const char *verdict, const char *json);

#endif
