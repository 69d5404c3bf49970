/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items by their keys, and files of a tree. */
#ifndef TESTS_CTL_CLUSTER_FOUND_H
#define TESTS_CTL_CLUSTER_FOUND_H

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/cluster/items.h"
#include "tests/suite.h"

static inline const struct item *found(GPtrArray *items, const char *key)
{
	for (unsigned i = 0; i < items->len; i++)
		if (!strcmp(((struct item *)items->pdata[i])->key, key))
			return items->pdata[i];
	ck_abort_msg("no item %s", key);
}

static inline void is(GPtrArray *items, const char *key, const char *value, const char *lack)
{
	const struct item *item = found(items, key);

	if (value)
		ck_assert_str_eq(item->value, value);
	ck_assert_msg(!lack == !item->lack && (!lack || strstr(item->lack, lack)), "%s: %s", key,
		      item->lack);
}

/* A file of the tree, with the directories above it. */
static inline void put_file(const char *below, const char *path, const char *text, int mode)
{
	g_autofree char *file = g_strconcat(below, path, NULL), *above = g_path_get_dirname(file);

	ck_assert_int_eq(g_mkdir_with_parents(above, 0755), 0);
	ck_assert(g_file_set_contents(file, text, -1, NULL));
	ck_assert_int_eq(g_chmod(file, mode), 0);
}

/* In a scratch directory that is removed at the end. */
static char tree[64];

static inline void make_tree(void)
{
	make_scratch(tree, "cluster");
}

static inline void remove_tree(void)
{
	const char *const argv[] = {"rm", "-r", tree, NULL};

	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
			       NULL, NULL, NULL));
}

#endif
