/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rows.h"

#include "trees.h"

/* How many objects are to be dealt with; the root always is. */
static unsigned loaded(void)
{
	struct way way;

	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	const unsigned nodes = way.tree->active->len;
	way_close(&way);
	open_store();
	return nodes;
}

/* A row counts until what it tells was carried, and again when it tells more. */
START_TEST(counts_once)
{
	trees_make(FILL);
	ck_assert_uint_eq(loaded(), 1);
	change("a/1", JOURNAL_DATA, "echo more >>a/1");
	change("a/2", JOURNAL_META, "chmod 600 a/2");
	ck_assert_uint_eq(loaded(), 3);
	go_back(0);
	ck_assert_uint_eq(loaded(), 1);
	change("a/1", JOURNAL_DATA, "echo more >>a/1");
	ck_assert_uint_eq(loaded(), 2);
	go_back(0);
	same_trees();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rows");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, counts_once);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
