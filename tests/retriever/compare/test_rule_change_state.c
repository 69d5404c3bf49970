/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose things are, by the journal. */
#include "tests/retriever/compare/rules_changed.h"

/* Each time it stays, and no line of it is left. */
START_TEST(i7_of_a_client)
{
	g_autofree char *path = NULL;

	begin();
	path = core_path(&core, "d/y.tmp");
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	expect("apply", "[rules]\naside=1\nbrought=0\nstays=1\n"); /* by the journal */
	changed.len = 0;
	change = "chmod 600 $new/d/y.tmp";
	change_at = settles + 2; /* after it was looked at first */
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
	ck_assert(is_here("d/y.tmp") && !is_reported("d/y.tmp"));
	path = (g_free(path), core_path(&core, "d"));
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	changed_flags = JOURNAL_NAMES; /* moved */
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
	changed_flags = JOURNAL_ENTRIES; /* which is nothing of its names */
	settled = false;
	expect("apply", "no journal");
	ck_assert(is_here("d/y.tmp") && !is_reported("d/y.tmp"));
	settled = true;
	expect("apply", "[rules]\naside=1\n");
	core_free(&core);
}
END_TEST

/* Nobody waits for it once for each lot. */
START_TEST(the_journal_hangs)
{
	unsigned before;

	begin();
	core_shell(&core, "for i in $(seq 600); do echo >$new/d/$i.tmp; done");
	before = settles;
	unsettled_at = settles + 2;
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=602\n");
	ck_assert_uint_eq(settles, before + 2);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rule_change_state", 60);

	tcase_add_test(tcase, i7_of_a_client);
	tcase_add_test(tcase, the_journal_hangs);
	return run_tcase(tcase);
}
