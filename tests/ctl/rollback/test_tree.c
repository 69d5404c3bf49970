/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/rollback/tree.h"

#include "tests/ctl/rollback/trees.h"
#include "tests/durable.h"

START_TEST(names_in_stage)
{
	struct node node = {.handle = {.type = 0x81, .len = 3, .bytes = {0, 0xab, 0xff}}};
	g_autofree char *name = tree_stage_name(&node, STAGE_PARKED);
	struct migrate_binding handle;

	ck_assert_str_eq(name, "p8100abff");
	ck_assert(tree_stage_parse(name, &handle));
	ck_assert(migrate_binding_equal(&handle, &node.handle));
	ck_assert(!tree_stage_parse("p8", &handle));
	ck_assert(!tree_stage_parse("p81zz", &handle));
	ck_assert(!tree_stage_parse("pother", &handle));
}
END_TEST

/* Of what was moved with its parents, and what only was in what was moved. */
START_TEST(paths)
{
	struct way way;

	trees_make(FILL);
	change("a/b/c/y", JOURNAL_DATA, "echo >>a/b/c/y");
	move("a/b", "e/b");
	move("e", "z");
	struct migrate_binding y = handle_of("z/b/c/y"), c = handle_of("z/b/c"), z = handle_of("z");
	way_begin_run(&way);
	g_autofree char *there = tree_path(tree_node(way.tree, &y));
	ck_assert_str_eq(there, "a/b/c/y");
	g_autofree char *dir = tree_path(tree_node(way.tree, &c));
	ck_assert_str_eq(dir, "a/b/c");
	g_autofree char *top = tree_path(tree_node(way.tree, &z));
	ck_assert_str_eq(top, "e");
	g_autofree char *here = tree_shown_path(tree_node(way.tree, &z));
	ck_assert_str_eq(here, "z");
	way_close(&way);
}
END_TEST

/* What is carried is durable here before it is noted as carried. */
START_TEST(what_is_active_is_synced)
{
	const char *const path = NEW_TREE "/a/1";
	struct way way;
	int fd;

	trees_make(FILL);
	change("a/1", JOURNAL_DATA, "echo >>a/1");
	trees_commit();
	journal_store_close(journal);
	way_open(&way);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
	ck_assert(!is_durable_at(path));
	ck_assert_int_eq(tree_sync(way.tree), 0);
	ck_assert_durable(path);
	way_close(&way);
}
END_TEST

/* Where it is and where it is to be: something is left in both. */
START_TEST(what_is_left_unsettles_its_directories)
{
	struct way way;

	trees_make(FILL);
	move("a/2", "e/2");
	struct migrate_binding file = handle_of("e/2"), a = handle_of("a"), e = handle_of("e");
	way_begin_run(&way);
	ck_assert(!tree_node(way.tree, &a)->unsettled && !tree_node(way.tree, &e)->unsettled);
	tree_unsettle(tree_node(way.tree, &file));
	ck_assert(tree_node(way.tree, &a)->unsettled);
	ck_assert(tree_node(way.tree, &e)->unsettled);
	way_close(&way);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, names_in_stage);
	tcase_add_test(tcase, paths);
	tcase_add_test(tcase, what_is_active_is_synced);
	tcase_add_test(tcase, what_is_left_unsettles_its_directories);
	return run_tcase(tcase);
}
