/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings what is beside the files that clients wait for now: all of such a directory, beside what
 * else the crawler does, and not before it.  One thread.
 */
#ifndef CRAWLER_TOUCHED_H
#define CRAWLER_TOUCHED_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct migrate_volume;

struct touched {
	/* private */
	struct migrate_volume *volume;
	int root_fd;
	bool asked; /* the retriever, and it has not answered */
	unsigned under_way;
	int64_t next_question;
	GQueue paths;	   /* to be brought */
	GHashTable *known; /* paths that were told already: of many only the last ones */
};

/* root_fd and volume must outlive it. */
void touched_begin(struct touched *touched, int root_fd, struct migrate_volume *volume);
/* When no request can complete any more; also where it has not begun. */
void touched_end(struct touched *touched);
/* Asks now and then, and brings at most window directories at a time (0: none). */
void touched_step(struct touched *touched, unsigned window, int64_t now_ms);

#endif
