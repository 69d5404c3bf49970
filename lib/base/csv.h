/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comma-separated values (RFC 4180), with or without a byte order mark. */
#ifndef LIB_BASE_CSV_H
#define LIB_BASE_CSV_H

#include <glib.h>
#include <stdbool.h>

#define BYTE_ORDER_MARK "\357\273\277" /* some editors put it before a text */

struct csv {
	GPtrArray *cells;  /* of the row, char * */
	unsigned line;	   /* where the row begins, from 1 */
	const char *wrong; /* why it is no row, or NULL; the next one begins in the next line */
	const char *rest;
	unsigned next; /* the line where the rest begins */
};

/* text must outlive it. */
void csv_init(struct csv *csv, const char *text);
void csv_clear(struct csv *csv);
/* Reads the next row; empty lines are none.  FALSE: there is none. */
bool csv_read(struct csv *csv);

/* Appends a cell to a row, of which the first is not empty; "\n" ends it. */
void csv_append(GString *out, const char *cell);

#endif
