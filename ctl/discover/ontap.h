/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ONTAP's commands print: tables, and with -instance a line for each field. */
#ifndef CTL_DISCOVER_ONTAP_H
#define CTL_DISCOVER_ONTAP_H

#include <glib.h>

struct ontap_record {
	unsigned line;	    /* where it begins, from 1 on */
	GHashTable *fields; /* keys: letters and digits of the heading in lower case; values: of
			       several lines, separated by '\n' */
};

/*
 * Records of a listing, in its order (struct ontap_record, freed with the array), of lines as
 * they are on a terminal, prompts and totals among them.  bad is called for each line that is none
 * of that.
 */
typedef void (*ontap_bad_fn)(void *arg, unsigned line, const char *text);
GPtrArray *ontap_read(const char *text, ontap_bad_fn bad, void *arg);
/* The value of the first of keys (up to NULL) that there is; "" if there is none, or "-". */
const char *ontap_get(const struct ontap_record *record, ...) G_GNUC_NULL_TERMINATED;

#endif
