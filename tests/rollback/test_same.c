/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "same.h"

#include "trees.h"

START_TEST(apart)
{
	GError *error = NULL;

	trees_make(FILL);
	ck_assert(check_apart(NEW_TREE, OLD_TREE, NULL));
	ck_assert(!check_apart(NEW_TREE, NEW_TREE "/a", &error));
	ck_assert_ptr_nonnull(strstr(error->message, "apart"));
	g_error_free(error);
	ck_assert(!check_apart(NEW_TREE "/a", NEW_TREE, NULL));
	ck_assert(!check_apart(NEW_TREE, NEW_TREE, NULL));
	sh("mkdir /mnt/again && mount --bind " NEW_TREE " /mnt/again");
	ck_assert(!check_apart(NEW_TREE, "/mnt/again", NULL));
}
END_TEST

START_TEST(other_trees)
{
	GError *error = NULL;
	struct way way;

	trees_make(FILL);
	/* what is made from then on may have no row yet */
	journal_store_state(journal)->seen = switched + 100000000;
	trees_commit();
	journal_store_close(journal);
	sh("cd " NEW_TREE " && for i in 1 2 3 4 5 6 7 8; do echo >new$i; done");
	way_open(&way);
	ck_assert(check_same_tree(way.tree, NULL));
	sh("cd " OLD_TREE " && mv a e d " OLD_STAGE " && mkdir x y");
	ck_assert(!check_same_tree(way.tree, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "not the tree"));
	g_error_free(error);
	way.tree->root->carried.fileid = 12345;
	sh("cd " OLD_TREE "/" OLD_STAGE " && mv a e d ..");
	ck_assert(!check_same_tree(way.tree, NULL));
	way_close(&way);
}
END_TEST

/* Nothing is in the root that clients did not change. */
START_TEST(an_empty_mount_point)
{
	GError *error = NULL;
	struct way way;

	trees_make("mkdir a b && echo old >a/old");
	move("a", "c");
	move("b", "d");
	make("new", "echo new >new");
	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	way.tree->root->carried.fileid = 0;
	ck_assert(check_same_tree(way.tree, NULL));
	way_close(&way);
	sh("mount -t tmpfs none " OLD_TREE);
	way_begin(&way);
	ck_assert(!check_same_tree(way.tree, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "not the tree"));
	g_error_free(error);
	way_close(&way);
}
END_TEST

START_TEST(an_empty_tree)
{
	struct way way;

	trees_make("true");
	make("new", "echo new >new");
	trees_commit();
	journal_store_close(journal);
	way_begin(&way);
	ck_assert(!check_same_tree(way.tree, NULL));
	sh("mkdir " OLD_TREE "/really");
	ck_assert(check_same_tree(way.tree, NULL));
	way_close(&way);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("same");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, apart);
	tcase_add_test(tcase, other_trees);
	tcase_add_test(tcase, an_empty_mount_point);
	tcase_add_test(tcase, an_empty_tree);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
