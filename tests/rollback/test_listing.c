/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "listing.h"

#include "trees.h"

/* A name that no hint leads to is found by a walk. */
START_TEST(searched)
{
	struct migrate_binding handle;
	struct way way;

	trees_make(FILL);
	handle = handle_of("a/b/c/y");
	sh("echo more >>" NEW_TREE "/a/b/c/y");
	journal_store_touch(journal, &handle, JOURNAL_DATA, NULL);
	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	g_autofree char *path = tree_path(tree_node(way.tree, &handle));
	ck_assert_str_eq(path, "a/b/c/y");
	way_close(&way);
	open_store();
	go_back(0);
	same_trees();
}
END_TEST

/* One that is known is found again. */
START_TEST(each_name_once)
{
	struct way way;

	trees_make(FILL);
	const struct migrate_binding handle = handle_of("a/1");
	note("a/1", JOURNAL_DATA | JOURNAL_SCANNED);
	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	ck_assert_uint_eq(tree_node(way.tree, &handle)->at->len, 2);
	way_close(&way);
}
END_TEST

START_TEST(given_up)
{
	struct way way;

	trees_make(FILL);
	sh("mkdir " NEW_TREE "/.migrate && "
	   "printf 'name\t" NEW_TREE "/a/never\tgiven up\n' >" NEW_TREE "/.migrate/report && "
	   "printf 'name\t" NEW_TREE "/before/moved\tgiven up\n' >>" NEW_TREE "/.migrate/report && "
	   "echo x >" OLD_TREE "/a/never");
	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	struct migrate_binding a = handle_of("a");
	struct node *dir = tree_node(way.tree, &a);
	ck_assert(listing_given_up(way.tree, tree_node_there(way.tree, dir, "never", 1)));
	ck_assert(!listing_given_up(way.tree, tree_node_there(way.tree, dir, "1", 2)));
	/* its directory had another path then */
	ck_assert(listing_given_up(way.tree, tree_node_there(way.tree, dir, "moved", 3)));
	ck_assert(!listing_left(way.tree, dir));
	sh("printf 'name\t" NEW_TREE "/a\tit is not listed\n' >>" NEW_TREE "/.migrate/report");
	ck_assert(listing_left(way.tree, dir));
	ck_assert(!listing_given_up(way.tree, tree_node_there(way.tree, dir, "1", 2)));
	ck_assert(!listing_left(way.tree, way.tree->root));
	/* what is not written to its end is nobody's name yet; another file has other names */
	sh("printf 'name\t" NEW_TREE "/e/emp' >>" NEW_TREE "/.migrate/report");
	ck_assert(!listing_given_up(way.tree, tree_node_there(way.tree, dir, "emp", 4)));
	sh("printf 'ty\tgiven up\n' >>" NEW_TREE "/.migrate/report");
	ck_assert(!listing_given_up(way.tree, tree_node_there(way.tree, dir, "emp", 5)));
	ck_assert(listing_given_up(way.tree, tree_node_there(way.tree, dir, "empty", 6)));
	sh("cd " NEW_TREE "/.migrate && grep empty report >new && mv new report");
	ck_assert(!listing_given_up(way.tree, tree_node_there(way.tree, dir, "never", 7)));
	ck_assert(listing_given_up(way.tree, tree_node_there(way.tree, dir, "empty", 8)));
	way_close(&way);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("listing");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, searched);
	tcase_add_test(tcase, each_name_once);
	tcase_add_test(tcase, given_up);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
