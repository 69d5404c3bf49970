/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names on the old server by fileid: one pass over a directory serves all who look for something in
 * it at the time.  Who comes while it is under way takes part in the rest of it, and in the next
 * one if that was too late.  Demand and background have passes of their own (I11).
 *
 * A pass ends when all is found.  It fails when the old server goes round in circles (Brent's
 * algorithm over the cookies) or lists more than LISTING_MAX entries.
 */
#ifndef RETRIEVER_DATA_LISTING_H
#define RETRIEVER_DATA_LISTING_H

#include "retriever/objects/retriever.h"

#define LISTING_MAX 10000000

/* Where a listing is, zeroed at its beginning; and whether it does not get on: asked with each page
 * that is not the last, and the cookie behind it. */
struct listing_progress {
	uint64_t seen, entries;
	unsigned steps, power;
};
bool listing_is_endless(struct listing_progress *progress, uint64_t cookie, guint entries);

/* Never blocks.  0: the entry's name, or -ENOENT; -ELOOP: the listing does not end; else the old
 * server's error. */
typedef void (*listing_found_fn)(void *arg, int status, const char *name);

struct listing_wanted {
	const struct source_object *directory;
	uint64_t fileid;
	listing_found_fn found;
	void *arg;
};
/* For all of them, each directory is listed once, or once more if it is being listed already. */
void listing_find(struct retriever *retriever, const struct listing_wanted *wanted, guint n,
		  bool demand);

struct listings;
struct listings *listings_new(void);
void listings_free(struct listings *listings);

#endif
