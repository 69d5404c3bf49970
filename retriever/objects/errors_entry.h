/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An entry of the list of errors, and the lines of its file: one for each change of the list, the
 * fields separated by tabs and escaped as in the report:
 *
 *   + OBJECT NAME ERRNO REASON PATH SINCE
 *                                     the entry is added, in place of an entry of the same object
 *                                     and name; earlier releases wrote no SINCE.  Behind
 *                                     ERRNO, after a space, is the number of the code, which
 *                                     earlier releases did not write and do not read
 *   - OBJECT NAME                     the entry is removed
 *   / OBJECT                          all names of that directory are removed
 *   *                                 all entries are removed
 *
 * OBJECT is the type and the bytes of the kernel handle in hexadecimal; no NAME: the object itself.
 */
#ifndef RETRIEVER_OBJECTS_ERRORS_ENTRY_H
#define RETRIEVER_OBJECTS_ERRORS_ENTRY_H

#include <glib.h>
#include <stdbool.h>

#include "common/record.h"
#include "lib/base/error_codes.h"

struct error_entry {
	struct migrate_binding key; /* the object, or for a name its directory */
	char *name;		    /* NULL: the object itself */
	char *path;		    /* when it failed; printable */
	char *reason;
	int status; /* -errno */
	enum error_code code;
	gint64 since; /* it has failed for that reason; seconds since the epoch, 0: not known */
};

void error_entry_clear(struct error_entry *entry);

enum error_change { ERROR_ADD = '+', ERROR_FORGET = '-', ERROR_NAMES = '/', ERROR_ALL = '*' };

/* The line, with its end.  g_free. */
char *error_entry_line(enum error_change change, const struct error_entry *entry);
/* Parses a line, with or without its end: returns the change and sets *entry, which the caller
 * clears.  0: the line makes no sense, and *entry is empty. */
int error_entry_parse(const char *line, struct error_entry *entry);

struct errors_filter {
	const char *reason;   /* part of it, or NULL */
	const char *below;    /* a path as text_line() shows it: it and what is below it, or NULL */
	enum error_code code; /* or QM_NONE */
	bool whole;	      /* reason is all of it, as it is or as text_line() shows it */
};

/* Takes a line of a command: "reason TEXT", "below PATH" or "code QM1201", which the filter then
 * points into.  False: it is none of them. */
bool errors_filter_take(struct errors_filter *filter, const char *line);
bool error_entry_matches(const struct error_entry *entry, const struct errors_filter *filter);

#endif
