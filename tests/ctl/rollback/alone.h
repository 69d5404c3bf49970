/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The line of one object that is not carried. */
#ifndef TESTS_CTL_ROLLBACK_ALONE_H
#define TESTS_CTL_ROLLBACK_ALONE_H

#include "tests/ctl/rollback/trees.h"

/* The text of the path's line; "": there is none. */
static inline char *line_of(const struct way *way, const char *path)
{
	for (guint i = 0; i < way->tree->conflicts->len; i++) {
		const struct problem *problem = way->tree->conflicts->pdata[i];

		if (!strcmp(problem->path, path))
			return g_strdup(problem->text);
	}
	show(way->tree->conflicts);
	return g_strdup("");
}

/* A run with one line, of that path, which has that in it. */
static inline void go_back_but(const char *path, const char *text)
{
	struct way way;

	way_begin_run(&way);
	way_go(&way);
	g_autofree char *line = line_of(&way, path);
	ck_assert_msg(strstr(line, text) != NULL, "%s: %s", path, line);
	ck_assert_uint_eq(way.tree->conflicts->len, 1);
	way_end_run(&way);
}

#endif
