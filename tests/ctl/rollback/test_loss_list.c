/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/loss_list.h"
#include "ctl/rollback/listing.h"

#include "tests/ctl/rollback/trees.h"

START_TEST(skipped)
{
	struct way way;

	trees_make(FILL);
	sh("mkdir " NEW_TREE "/.migrate && "
	   "printf 'name\t" NEW_TREE "/a/never\tgiven up\n' >" NEW_TREE "/.migrate/report && "
	   "printf 'name\t" NEW_TREE "/before/moved\tgiven up\n' >>" NEW_TREE "/.migrate/report && "
	   "echo x >" OLD_TREE "/a/never");
	way_begin_run(&way);
	struct migrate_binding a = handle_of("a");
	struct node *dir = tree_node(way.tree, &a);
	ck_assert(loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "never", 1)));
	ck_assert(!loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "1", 2)));
	/* its directory had another path then */
	ck_assert(loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "moved", 3)));
	ck_assert(!loss_list_left(way.tree, dir));
	sh("printf 'name\t" NEW_TREE "/a\tit is not listed\n' >>" NEW_TREE "/.migrate/report");
	ck_assert(loss_list_left(way.tree, dir));
	ck_assert(!loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "1", 2)));
	ck_assert(!loss_list_left(way.tree, way.tree->root));
	/* what is not written to its end is nobody's name yet; another file has other names */
	sh("printf 'name\t" NEW_TREE "/e/emp' >>" NEW_TREE "/.migrate/report");
	ck_assert(!loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "emp", 4)));
	sh("printf 'ty\tgiven up\n' >>" NEW_TREE "/.migrate/report");
	ck_assert(!loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "emp", 5)));
	ck_assert(loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "empty", 6)));
	sh("cd " NEW_TREE "/.migrate && grep empty report >new && mv new report");
	ck_assert(!loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "never", 7)));
	ck_assert(loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "empty", 8)));
	way_close(&way);
}
END_TEST

/* By its path, here or there; or where that changed, by its name. */
START_TEST(ruled_out)
{
	struct way way;

	trees_make(FILL);
	sh("mkdir " NEW_TREE "/.migrate && "
	   "printf 'rule\t" NEW_TREE "/a/never\texclude = never\n' >" NEW_TREE
	   "/.migrate/report && "
	   "printf 'name\t" NEW_TREE "/a/given\tgiven up\n' >>" NEW_TREE "/.migrate/report && "
	   "mv " NEW_TREE "/a " NEW_TREE "/renamed");
	way_begin_run(&way);
	const struct migrate_binding a = handle_of("renamed"), d = handle_of("d");
	struct node *dir = tree_node(way.tree, &a), *other = tree_node(way.tree, &d);
	g_ptr_array_set_size(dir->at, 0);
	place_add(dir->at, way.tree->root, "a");
	ck_assert(loss_list_ruled_out(way.tree, dir, "never", false));
	ck_assert(!loss_list_ruled_out(way.tree, dir, "given", true));
	ck_assert(!loss_list_ruled_out(way.tree, other, "never", false));
	ck_assert(loss_list_ruled_out(way.tree, other, "never", true));
	ck_assert(loss_list_skipped(way.tree, tree_node_there(way.tree, dir, "never", 1)));
	way_close(&way);
}
END_TEST

/* It comes after its directory was listed here, and then has no line any more. */
START_TEST(came_meanwhile)
{
	struct way way;

	trees_make(FILL);
	way_begin_run(&way);
	sh("mkdir " NEW_TREE "/.migrate && printf 'rule\t" NEW_TREE
	   "/a/never\texclude = never\n' >" NEW_TREE "/.migrate/report");
	const struct migrate_binding a = handle_of("a");
	struct node *dir = tree_node(way.tree, &a);
	ck_assert_int_eq(listing_here(way.tree, dir), 0);
	sh("printf came | dd conv=notrunc status=none of=" NEW_TREE "/.migrate/report");
	ck_assert(loss_list_ruled_out(way.tree, dir, "never", false));
	way_close(&way);
}
END_TEST

/* A name that never came, of a file that has another one: nothing removes it.
 */
START_TEST(one_name_of_two)
{
	trees_make("mkdir a && echo x >a/x && ln a/x a/never && find . -exec touch -hd 2001-02-03 "
		   "{} +");
	sh("mkdir " NEW_TREE "/.migrate && rm " NEW_TREE "/a/never && "
	   "printf 'rule\t" NEW_TREE "/a/never\texclude = never\n' >" NEW_TREE "/.migrate/report");
	move("a/x", "a/y");
	go_back(0);
	sh("cd " OLD_TREE "/a && test y -ef never && test ! -e x");
	/* a client gives it that name itself */
	move("a/y", "a/never");
	go_back(0);
	sh("cd " OLD_TREE "/a && test -e never && test ! -e y");
}
END_TEST

/* Its directory had another path when it was left out. */
START_TEST(by_another_path)
{
	trees_make("mkdir a && echo x >a/x && ln a/x a/never && echo z >a/z && ln a/z a/also && "
		   "echo other >a/own && find . -exec touch -hd 2001-02-03 {} +");
	sh("mkdir " NEW_TREE "/.migrate && rm " NEW_TREE "/a/never " NEW_TREE "/a/own && "
	   "printf 'rule\t" NEW_TREE "/once/never\texclude = never\n"
	   "rule\t" NEW_TREE "/once/own\texclude = own\n"
	   "rule\t" NEW_TREE "/once/also\texclude = /once/also\n' >" NEW_TREE "/.migrate/report");
	move("a", "b");
	go_back(0);
	sh("cd " OLD_TREE "/b && test x -ef never");
	move("b/x", "b/y");
	sh("rm " NEW_TREE "/b/also && echo mine >" NEW_TREE "/b/own");
	go_back(1);
	sh("cd " OLD_TREE "/b && test y -ef never && test ! -e x && grep -q other own");
	/* nor once it has no other name */
	take_away("b/y");
	sh("rm " NEW_TREE "/b/own");
	go_back(2);
	sh("cd " OLD_TREE "/b && test -e never && test ! -e y");
	move("b/z", "b/w");
	go_back(2);
	sh("cd " OLD_TREE "/b && test -e never && test -e w && grep -q other own");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, skipped);
	tcase_add_test(tcase, ruled_out);
	tcase_add_test(tcase, came_meanwhile);
	tcase_add_test(tcase, one_name_of_two);
	tcase_add_test(tcase, by_another_path);
	return run_tcase(tcase);
}
