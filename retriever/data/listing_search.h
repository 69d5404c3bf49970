/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds names on the old server by fileid, by listing a directory.  One pass over a directory
 * serves all searches in it at that time.  A search that comes while a pass is under way takes part
 * in the rest of the pass, and in the next one if it came too late.  Demand and background have
 * passes of their own (I11).
 *
 * A pass ends when all is found.  It fails when the old server goes round in circles (Brent's
 * algorithm over the cookies) or lists more than LISTING_MAX entries.
 */
#ifndef RETRIEVER_DATA_LISTING_SEARCH_H
#define RETRIEVER_DATA_LISTING_SEARCH_H

#include "retriever/objects/retriever.h"

#define LISTING_MAX 10000000

/* The progress of a listing, zeroed at its beginning.  listing_is_endless() tells whether the
 * listing has no end; it is called for each page that is not the last, with the cookie behind the
 * page and the number of its entries. */
struct listing_progress {
	uint64_t seen, entries;
	unsigned steps, power;
};
bool listing_is_endless(struct listing_progress *progress, uint64_t cookie, guint entries);

/* Gets the result of a search.  Must not block.  0: name is the entry's; -ENOENT: there is no such
 * entry; -ELOOP: the listing does not end; else the old server's error. */
typedef void (*listing_found_fn)(void *arg, int status, const char *name);

struct listing_wanted {
	const struct source_object *directory;
	uint64_t fileid;
	listing_found_fn found;
	void *arg;
};
/* Starts all these searches.  Each directory is listed once for all of them, or once more if it is
 * being listed already. */
void listing_find(struct retriever *retriever, const struct listing_wanted *wanted, guint n,
		  bool demand);

struct listings;
struct listings *listings_new(void);
void listings_free(struct listings *listings);

#endif
