/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reasons of listed errors: each is kept once, with the number of entries that have it.  Not
 * locked. */
#ifndef RETRIEVER_OBJECTS_ERRORS_REASONS_H
#define RETRIEVER_OBJECTS_ERRORS_REASONS_H

#include <glib.h>
#include <stdbool.h>

#include "lib/base/error_codes.h"

#define ERRORS_REASONS_MAX 4096
/* The first ERROR_KINDS reasons have no text: each stands for all of its code (error_kinds[]) that
 * came when there were so many. */
#define ERRORS_REASON_OTHER(number) ((number) < ERROR_KINDS)

struct error_reason {
	char *text;
	int status;
	enum error_code code;
	guint count;  /* of entries; 0: none has it any more */
	gint64 since; /* some entry has it; seconds since the epoch, 0: not known */
};

struct errors_reasons {
	GArray *list;	     /* of struct error_reason */
	GHashTable *numbers; /* by text, status and code */
};

void errors_reasons_init(struct errors_reasons *reasons);
void errors_reasons_clear(struct errors_reasons *reasons);
/* One more entry has it: its number. */
guint errors_reasons_use(struct errors_reasons *reasons, const char *text, int status,
			 enum error_code code);
void errors_reasons_leave(struct errors_reasons *reasons, guint number);
/* NULL: there are not so many. */
struct error_reason *errors_reasons_at(const struct errors_reasons *reasons, guint number);

#endif
