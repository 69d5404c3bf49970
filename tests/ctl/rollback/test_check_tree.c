/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/check_tree.h"

#include "tests/ctl/rollback/trees.h"

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
	sh("cd " OLD_TREE " && mv a e d " TARGET_STAGE " && mkdir x y");
	ck_assert(!check_same_tree(way.tree, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "not the tree"));
	g_error_free(error);
	way.tree->root->carried.fileid = 12345;
	sh("cd " OLD_TREE "/" TARGET_STAGE " && mv a e d ..");
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
	way_begin_run(&way);
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

static bool is_same(void)
{
	GError *error = NULL;
	struct way way;
	bool same;

	trees_commit();
	journal_store_close(journal);
	way_begin(&way);
	same = check_same_tree(way.tree, &error);
	ck_assert(same == !error);
	g_clear_error(&error);
	way_end_run(&way);
	return same;
}

/* The only one in the root; what is below a mount point is not it, whatever its name. */
START_TEST(one_name)
{
	trees_make("mkdir a && echo old >a/old && touch -d 2001-02-03T04:05:06.789 a");
	journal_store_state(journal)->seen = g_get_real_time() * 1000 + INT64_C(1000000000);
	ck_assert(is_same());
	sh("mv " OLD_TREE "/a " OLD_TREE "/theirs");
	ck_assert(is_same());
	/* renamed in a gap */
	sh("mv " OLD_TREE "/theirs " OLD_TREE "/a && mv " NEW_TREE "/a " NEW_TREE "/b");
	note_seen("b");
	root_seen();
	ck_assert(is_same());
	sh("mount -t tmpfs none " OLD_TREE " && mkdir " OLD_TREE "/c");
	ck_assert(!is_same());
	sh("rmdir " OLD_TREE "/c && touch " OLD_TREE "/b && touch -r " NEW_TREE "/b " OLD_TREE
	   "/b");
	ck_assert(!is_same());
	sh("rm " OLD_TREE "/b");
	ck_assert(!is_same());
}
END_TEST

/* Its run was killed while it was moved. */
START_TEST(one_name_put_aside)
{
	trees_make("mkdir a && echo old >a/old");
	move("a", "b");
	const struct node node = {.handle = handle_of("b")};
	g_autofree char *parked = tree_stage_name(&node, STAGE_PARKED);
	sh("cd " OLD_TREE " && mkdir " TARGET_STAGE " && mv a " TARGET_STAGE "/%s && "
	   "touch " TARGET_STAGE "/%s",
	   parked, parked);
	ck_assert(is_same());
	go_back_whole();
	sh("rm -r " OLD_TREE "/b");
	ck_assert(!is_same());
}
END_TEST

/* Of which all was removed here; another one's root may have the same number. */
START_TEST(an_empty_tree_that_is_known)
{
	trees_make("mkdir a && touch -d 2001-02-03 .");
	take_away("a");
	go_back(0);
	make("new", "echo new >new");
	ck_assert(is_same());
	sh("mkdir " OLD_TREE "/lost+found");
	ck_assert(!is_same());
	sh("rmdir " OLD_TREE "/lost+found && touch " OLD_TREE);
	ck_assert(!is_same());
}
END_TEST

/* Of which a run had removed all when it was killed. */
START_TEST(an_empty_tree_of_a_killed_run)
{
	trees_make("mkdir a && touch -d 2001-02-03 . a");
	make("b", "mkdir b");
	go_back(0);
	take_away("a");
	take_away("b");
	sh("cd " OLD_TREE " && rmdir a b");
	ck_assert(!is_same());
	sh("mkdir " OLD_TREE "/" TARGET_STAGE);
	ck_assert(is_same());
	go_back_whole();
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
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, apart);
	tcase_add_test(tcase, other_trees);
	tcase_add_test(tcase, an_empty_mount_point);
	tcase_add_test(tcase, one_name);
	tcase_add_test(tcase, one_name_put_aside);
	tcase_add_test(tcase, an_empty_tree);
	tcase_add_test(tcase, an_empty_tree_that_is_known);
	tcase_add_test(tcase, an_empty_tree_of_a_killed_run);
	return run_tcase(tcase);
}
