/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reasons of listed errors: each is kept once, with the number of entries that have it.  Not
 * locked. */
#ifndef RETRIEVER_OBJECTS_ERRORS_REASONS_H
#define RETRIEVER_OBJECTS_ERRORS_REASONS_H

#include <glib.h>
#include <stdbool.h>

#define ERRORS_REASONS_MAX  4096
#define ERRORS_REASON_OTHER 0 /* all that came when there were so many: without a text */

struct error_reason {
	char *text;
	int status;
	guint count;  /* of entries; 0: none has it any more */
	gint64 since; /* some entry has it; seconds since the epoch, 0: not known */
};

struct errors_reasons {
	GArray *list;	     /* of struct error_reason */
	GHashTable *numbers; /* by text and status */
};

void errors_reasons_init(struct errors_reasons *reasons);
void errors_reasons_clear(struct errors_reasons *reasons);
/* One more entry has it: its number. */
guint errors_reasons_use(struct errors_reasons *reasons, const char *text, int status);
void errors_reasons_leave(struct errors_reasons *reasons, guint number);
/* NULL: there are not so many. */
struct error_reason *errors_reasons_at(const struct errors_reasons *reasons, guint number);

#endif
