/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Works on the lists of migratectl fetch (fetch_list.h), several at a time.  One thread. */
#ifndef CRAWLER_LISTS_H
#define CRAWLER_LISTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct migrate_volume;

struct lists {
	uint64_t failed; /* paths of those that were told */
	/* private */
	GPtrArray *all;
	bool more; /* lists than are worked on at a time */
	int root_fd;
	struct migrate_volume *volume;
	char *directory;
	bool tell;
	int64_t next_look;
};

/* root_fd (of the directory root) and volume must outlive it.  tell: of lists that are through the
 * failed paths are printed on stderr, and they go; otherwise a list with such a path stays. */
void lists_begin(struct lists *lists, const char *root, int root_fd, struct migrate_volume *volume,
		 bool tell);
/* As walk_free(). */
void lists_end(struct lists *lists);
/* Whether there are lists to work on; with tell, or to wait for while another crawler has them. */
bool lists_any(const struct lists *lists);
/* Looks for new lists now and then, and works on all of them as walk_step() does. */
int lists_step(struct lists *lists, unsigned window, int64_t now_ms);

#endif
