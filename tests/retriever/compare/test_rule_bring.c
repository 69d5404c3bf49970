/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In which order things come, and what does not. */
#include "tests/retriever/compare/rules_changed.h"

/* Lines of two rules. */
START_TEST(left_out_twice)
{
	begin();
	expect("apply", "[rules]\naside=2\n");
	core_shell(&core,
		   "printf 'rule\t%s\texclude = y.tmp\n' $new/d/y.tmp >>$new/.migrate/report");
	core_restart(&core);
	core_rule(&core, RULE_INCLUDE, "none");
	expect("apply", "brought=3\nstays=0\n");
	ck_assert(is_here("d/y.tmp") && !is_reported("d/y.tmp"));
	core_free(&core);
}
END_TEST

START_TEST(durable_before_its_line_goes)
{
	g_autofree char *path = NULL;

	begin();
	expect("apply", "[rules]\naside=2\n");
	core_restart(&core); /* without the rule */
	core_rule(&core, RULE_INCLUDE, "none");
	expect("look", "left=2\n");
	core_shell(&core, "echo > $new/d/y.tmp");
	path = core_path(&core, "d/y.tmp");
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	expect("apply", "brought=1\nstays=1\n"); /* what is there is a client's */
	ck_assert_uint_eq(retracts, 1);
	ck_assert(is_here("d/z.tmp") && !is_reported("d/z.tmp"));
	core_free(&core);
}
END_TEST

/* Both are the old server's, which tells them apart. */
START_TEST(another_spelling_is_another_object)
{
	begin();
	core_source_file(&core, "d/Y.TMP", 5000, 4);
	core_shell(&core,
		   "printf 'rule\t%s\texclude = Y.TMP\n' $new/d/Y.TMP >>$new/.migrate/report");
	core_restart(&core); /* without the rule */
	((struct volume_config *)core.retriever->config)->rules = rules_new(true);
	expect("apply", "brought=1\nstays=0\n");
	ck_assert(is_here("d/Y.TMP") && is_here("d/y.tmp") && !is_reported("d/Y.TMP"));
	core_free(&core);
}
END_TEST

/* What a client makes while many names of a directory come is seen by the next lot of them. */
START_TEST(another_spelling_in_time)
{
	g_autofree char *path = NULL;

	begin();
	core_shell(&core, "for i in $(seq 100 399); do echo a >$old/d/$i.TMP; "
			  "printf 'rule\t%s\texclude = TMP\n' $new/d/$i.TMP; "
			  "done >>$new/.migrate/report");
	core_restart(&core); /* without the rule */
	((struct volume_config *)core.retriever->config)->rules = rules_new(true);
	change_at = settles + 3; /* the second lot */
	change = "mv $new/mine $new/d/399.tmp";
	core_shell(&core, "echo >$new/mine");
	path = core_path(&core, "mine");
	ck_assert_int_eq(migrate_binding_get(AT_FDCWD, path, &changed), 0);
	expect("apply", "brought=299\nstays=1\n");
	ck_assert(!is_here("d/399.TMP") && is_here("d/399.tmp") && is_reported("d/399.TMP"));
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rule_bring", 60);

	tcase_add_test(tcase, left_out_twice);
	tcase_add_test(tcase, durable_before_its_line_goes);
	tcase_add_test(tcase, another_spelling_is_another_object);
	tcase_add_test(tcase, another_spelling_in_time);
	return run_tcase(tcase);
}
