/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of what is to be brought first: files in FETCH_LIST_DIR of the volume's root, with a number
 * for a name.  migratectl fetch makes them, the crawler removes them and holds flock(2) on those
 * that it works on.  In a list there are a head of FETCH_LIST_HEAD bytes, the paths below the root,
 * and for each that failed the path and why; each with a NUL.  A list gets its name when all of it
 * is durable.  What the crawler writes may be lost: then it begins with the first path again.  It
 * is through when all bytes are here; what of them a crash takes before they are durable, about a
 * second later, is missing again and comes in the crawler's own order.
 */
#ifndef LIB_BASE_FETCH_LIST_H
#define LIB_BASE_FETCH_LIST_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/migrate.h"

#define FETCH_LIST_DIR	MIGRATE_PRIVATE_DIR "/fetch"
#define FETCH_LIST_HEAD 128

struct fetch_list {
	int names_only;
	int64_t since;		      /* of migrate_fill_since() */
	uint64_t paths, done, failed; /* done: with those that failed */
};

/* Whether fd is a list, and its head. */
bool fetch_list_load(int fd, struct fetch_list *list);
/* Writes the head.  0 or -errno. */
int fetch_list_save(int fd, const struct fetch_list *list);
/* Makes a list of these paths in the directory, which it makes if it is not there.  Blocks until
 * the list is durable.  Any thread.  0 and its number, or -errno: there is no list, or one that
 * could not be made durable. */
int fetch_list_add(const char *directory, const struct fetch_list *list, const GString *paths,
		   unsigned *number);

#endif
