/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths that a walk is to bring, sorted so that those of one directory stand together. */
#ifndef CRAWLER_PATHS_H
#define CRAWLER_PATHS_H

#include <glib.h>
#include <stdbool.h>

/* Some of them that begin alike. */
struct paths_part {
	guint first, end;
	size_t prefix; /* so many bytes lead to the directory that they are in */
};

/* paths: of char *, relative, without empty components; "" stands for the directory itself. */
void paths_sort(GPtrArray *paths);
/*
 * Takes those that go on with the same name off the part's front.  *name: g_free.  *below: what is
 * taken; *whole: the name itself is among them, so that the others matter no more.
 */
void paths_take(const GPtrArray *paths, struct paths_part *part, char **name,
		struct paths_part *below, bool *whole);

#endif
