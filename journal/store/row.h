/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the journal says of an object; reader.h tells how to take it. */
#ifndef JOURNAL_STORE_ROW_H
#define JOURNAL_STORE_ROW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/record.h"

#define JOURNAL_NAME_MAX 255
/* The domain of all errors; codes are those of errno. */
#define JOURNAL_ERROR (g_quark_from_static_string("quickmigrate-journal"))

enum journal_flags {
	JOURNAL_MADE = 1 << 0,	  /* was not there at the switch */
	JOURNAL_DATA = 1 << 1,	  /* a file's bytes or size, or its mtime */
	JOURNAL_META = 1 << 2,	  /* mode, owner, times, ACL, extended attributes, links */
	JOURNAL_ENTRIES = 1 << 3, /* a directory: names came or went, maybe both; its mtime moved */
	JOURNAL_NAMES = 1 << 4,	  /* not made, and its own names are not those of the switch */
	JOURNAL_GONE = 1 << 5,	  /* all names are removed */
	JOURNAL_SCANNED = 1 << 6, /* found by a scan: what else happened in the gap is not known */
	JOURNAL_DIRECTORY = 1 << 7, /* it is one, as far as that was told */
	JOURNAL_MAYBE = 1 << 8,	    /* a scan alone found it: nothing of it may have been changed */
	JOURNAL_RETURNED = 1 << 9,  /* a directory came from another tree of the file system: a scan
				     * is to take all below it for changed, and the gap lasts until
				     * then */
};

enum journal_name_kind {
	JOURNAL_NAME_GONE = 0, /* it had this name at the switch, and has it no more */
	JOURNAL_NAME_MADE = 1, /* it has this name, and had it not */
};

struct journal_name {
	enum journal_name_kind kind;
	struct migrate_binding parent;
	char name[JOURNAL_NAME_MAX + 1];
};

struct journal_row {
	struct migrate_binding handle;
	unsigned flags;
	uint64_t generation; /* of the commit that touched it last */
	/*
	 * Where it was seen last: a hint, which saves the search for its path.  To be believed only
	 * if that name below that directory has this handle (migrate_binding_get()).  parent.len 0:
	 * not known; then /proc/self/fd of the opened handle may tell, or a walk.
	 */
	struct migrate_binding parent;
	char name[JOURNAL_NAME_MAX + 1];
};

#endif
