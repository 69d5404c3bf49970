/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_directory.h"

/* Which is not the same as one that is not attached. */
START_TEST(an_empty_volume)
{
	g_autofree char *private = NULL;
	int root;

	core_make(&core);
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	core_expect_answer(&core, "status", "state=unattached");
	core_expect_answer(&core, "attach", "0 ");
	core_expect_answer(&core, "status", "state=migrating");
	core_restart(&core);
	core_expect_answer(&core, "status", "state=migrating");
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	ck_assert_int_eq(core_state(root), MIGRATE_NORMAL);
	core_expect_answer(&core, "status", "state=whole");
	core_expect_answer(&core, "attach", "-114 ");
	core_restart(&core);
	core_expect_answer(&core, "status", "state=whole");
	core_expect_answer(&core, "finalize", "0 ");
	private = core_path(&core, MIGRATE_PRIVATE_DIR);
	ck_assert_int_eq(access(private, F_OK), -1);
	core_free_with(&core, root);
}
END_TEST

/* What nobody has attached is not finished, whatever is in it: adopting it was refused, or not
 * tried. */
START_TEST(never_attached)
{
	g_autofree char *file = NULL, *make = NULL, *flag = NULL, *unflag = NULL;

	core_make(&core);
	file = core_path(&core, "flagged");
	make = g_strconcat("touch ", file, NULL);
	flag = g_strconcat("chattr +i ", file, NULL);
	unflag = g_strconcat("chattr -i ", file, NULL);
	ck_assert_int_eq(system(make), 0);
	core_open(&core);
	core_run(&core);
	core_connect(&core);
	core_expect_answer(&core, "status", "state=unattached");
	ck_assert_int_eq(system(flag), 0);
	core_expect_answer(&core, "attach adopt", "-1 ");
	ck_assert_int_eq(system(unflag), 0);
	core_expect_answer(&core, "status", "state=unattached");
	core_expect_answer(&core, "finalize", "-22 ");
	core_expect_answer(&core, "copy", "-114 ");
	core_expect_answer(&core, "attach adopt", "0 ");
	core_expect_answer(&core, "status", "state=migrating");
	core_free(&core);
}
END_TEST

/* By a crash, and another before the retriever knows that it was not: the root has its record, and
 * .migrate/ has the mark. */
START_TEST(attached_but_for_the_mark)
{
	g_autofree char *private = NULL;
	int root;

	core_make(&core);
	core_start(&core);
	core_close(&core);
	private = core_path(&core, MIGRATE_PRIVATE_DIR);
	ck_assert_int_eq(chmod(private, PRIVATE_ATTACHING), 0);
	core_open(&core);
	core_run(&core);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	core_expect_answer(&core, "status", "state=whole");
	core_free_with(&core, root);
}
END_TEST

/* The attach could not take it away. */
START_TEST(a_mark_that_stays)
{
	g_autofree char *private = NULL;
	int root;

	core_make(&core);
	core_start(&core);
	private = core_path(&core, MIGRATE_PRIVATE_DIR);
	ck_assert_int_eq(chmod(private, PRIVATE_ATTACHING), 0);
	root = core_root(&core);
	ck_assert_int_eq(make_whole(root), 0);
	core_expect_answer(&core, "status", "state=whole");
	core_restart(&core);
	core_expect_answer(&core, "status", "state=whole");
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("state", 60);

	tcase_add_test(tcase, an_empty_volume);
	tcase_add_test(tcase, never_attached);
	tcase_add_test(tcase, attached_but_for_the_mark);
	tcase_add_test(tcase, a_mark_that_stays);
	return run_tcase(tcase);
}
