/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volume's counters: how many objects and bytes were found on the old server, and how many of
 * them are here. */
#ifndef RETRIEVER_OBJECTS_COUNTERS_H
#define RETRIEVER_OBJECTS_COUNTERS_H

#include <glib.h>

struct counters {
	/* all atomic; a cache that a walk can rebuild */
	gint64 directories_found, directories_whole, unfilled;
	gint64 files_found, files_whole;
	gint64 bytes_found, bytes_whole, bytes_fetched;
	gint64 bytes_partial; /* that are durable here of unfinished files in memory */
	gint64 acls_carried, xattrs_carried; /* objects */
	/* of a copy made before: what was the same, names that the old server does not list, what
	 * is set aside and its bytes on disk */
	gint64 same, left_over, aside, aside_bytes;
	gint64 bytes_corrected; /* that another tool had copied wrong, in ranges as they were read
				 */
	/* of a run of a copy: files that were made, and when every name was here (s since 1970) */
	gint64 made, named;
	gint demand_waiting, background_waiting;
	gint crawlers; /* connected */
	gint exact;
};

#define COUNT_ADD(r, field, n) __atomic_add_fetch(&(r)->counters.field, (n), __ATOMIC_RELAXED)
#define COUNT_GET(r, field)    __atomic_load_n(&(r)->counters.field, __ATOMIC_RELAXED)
/* Bytes that are here: those of whole files, and those of unfinished files as far as they are
 * known. */
#define COUNT_BYTES_HERE(r)    (COUNT_GET(r, bytes_whole) + COUNT_GET(r, bytes_partial))
#define COUNT_SET(r, field, n) __atomic_store_n(&(r)->counters.field, (n), __ATOMIC_RELAXED)

#endif
