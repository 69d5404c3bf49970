/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages that need nothing else: no script, no link, nothing to load. */
#ifndef CTL_REPORT_HTML_H
#define CTL_REPORT_HTML_H

#include <glib.h>
#include <stdint.h>

/* The head with its style, and the title. */
void html_begin(GString *html, const char *what, const char *name);
/* A format of markup with values of text. */
void html_add(GString *html, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Rows of a table: anything may be in value. */
void html_fact(GString *html, const char *name, const char *value);
void html_number(GString *html, const char *name, uint64_t number);

#endif
