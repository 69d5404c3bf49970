/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A directory of a test's own, handles that no file system gave, and a store. */
#ifndef TESTS_JOURNAL_PLACE_H
#define TESTS_JOURNAL_PLACE_H

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "journal/store/reader.h"
#include "journal/store/store.h"
#include "tests/clocks.h"
#include "tests/suite.h"

static char *place;

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void place_make(void)
{
	place = g_dir_make_tmp("journal-XXXXXX", NULL);
	ck_assert_ptr_nonnull(place);
}

static inline void place_remove(void)
{
	nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	g_free(place);
}

static inline struct migrate_binding handle(unsigned number)
{
	struct migrate_binding binding = {.type = 1, .len = 8};

	memcpy(binding.bytes, &number, sizeof(number));
	return binding;
}

static inline struct journal_place at(unsigned dir, const char *name)
{
	return (struct journal_place){handle(dir), name};
}

static inline struct journal_store *store_at_place(void)
{
	GError *error = NULL;
	struct journal_store *store = journal_store_open(place, &error);

	ck_assert_msg(store != NULL, "%s", error ? error->message : "");
	return store;
}

static inline void commit(struct journal_store *store)
{
	GError *error = NULL;

	ck_assert_msg(journal_store_commit(store, &error), "%s", error ? error->message : "");
}

#endif
