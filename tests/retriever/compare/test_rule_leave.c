/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In which order things leave, and what stays. */
#include "tests/retriever/compare/rules_changed.h"

START_TEST(i12_a_line_before_it_leaves)
{
	int fd;

	begin();
	fill("d/z.tmp");
	fd = core_lookup(&core, "d/z.tmp/w", O_RDONLY);
	errors_add_fd(core.retriever->errors, fd, -EIO, QM_LOOKUP_FORBIDDEN);
	close(fd);
	fd = core_lookup(&core, "d/z.tmp", O_RDONLY | O_DIRECTORY);
	errors_add_name(core.retriever->errors, fd, "v", -EIO, QM_LINK_REFUSED, NULL);
	close(fd);
	expect("look", "aside=2\n");
	ck_assert(is_here("d/y.tmp") && is_here("d/z.tmp"));
	expect("apply", "[rules]\naside=2\nbrought=0\nstays=0\n");
	ck_assert_uint_eq(asides, 2);
	ck_assert(!is_here("d/y.tmp") && !is_here("d/z.tmp") && is_here("d/x"));
	ck_assert(is_here(".migrate/aside/d/z.tmp"));
	ck_assert_uint_eq(errors_count(core.retriever->errors), 0);
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=0\n");
	core_free(&core);
}
END_TEST

/* It was changed when it had been judged already. */
START_TEST(i7_on_its_way)
{
	static const char *const deeds[] = {
		"echo >> $new/d/z.tmp/w; touch -d 2001-01-01 $new/d/z.tmp/w",
		"mkdir $new/d/z.tmp/new",
		"chmod 700 $new/d/z.tmp",
		"chown 1234 $new/d/z.tmp",
	};

	begin();
	core_shell(&core, "cp $new/d/x $new/d/x.tmp; cp $new/d/x $old/d/x.tmp");
	expect("apply", "[rules]\naside=3\n");
	core_free(&core);
	for (unsigned i = 0; i < G_N_ELEMENTS(deeds); i++) {
		begin();
		fill("d/z.tmp");
		core_shell(&core, "rm $new/d/y.tmp");
		late = deeds[i];
		expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
		late = NULL;
		ck_assert(is_here("d/z.tmp/w") && !is_reported("d/z.tmp"));
		core_free(&core);
	}
	begin(); /* a file, and its name is taken */
	core_shell(&core, "rm -r $new/d/y.tmp $new/d/z.tmp; cp $new/d/x $new/d/x.tmp; "
			  "cp $new/d/x $old/d/x.tmp");
	late = "echo >> $new/d/x.tmp";
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=1\n");
	ck_assert(is_here("d/x.tmp") && !is_reported("d/x.tmp"));
	late = NULL;
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rule_leave", 60);

	tcase_add_test(tcase, i12_a_line_before_it_leaves);
	tcase_add_test(tcase, i7_on_its_way);
	return run_tcase(tcase);
}
