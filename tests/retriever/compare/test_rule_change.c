/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When nothing is done. */
#include "tests/retriever/compare/rules_changed.h"

START_TEST(i7_nobody_can_tell)
{
	begin();
	fill("d/z.tmp");
	lease_error = -EACCES;
	expect("apply", "[rules]\naside=0\nbrought=0\nstays=2\n");
	lease_error = 0;
	compared = true;
	expect("apply", "are being compared");
	expect("look", "aside=2\n");
	compared = false;
	damaged = true;
	expect("apply", "has errors");
	damaged = false;
	ck_assert(is_here("d/y.tmp") && is_here("d/z.tmp"));
	expect("apply", "[rules]\naside=2\n");
	core_restart(&core);
	core_rule(&core, RULE_INCLUDE, "none");
	core_shell(&core, "echo > $new/d/y.tmp");
	unsettled_at = settles + 3; /* what is here is asked about, and not yet in the journal */
	expect("apply", "brought=1\nstays=1\n");
	ck_assert(!is_reported("d/z.tmp") && is_reported("d/y.tmp"));
	core_free(&core);
}
END_TEST

START_TEST(other_rules)
{
	begin();
	core_expect_answer(&core, "rules apply 0", "other rules");
	core_expect_answer(&core, "rules", "other rules");
	ck_assert(is_here("d/y.tmp"));
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rule_change", 60);

	tcase_add_test(tcase, i7_nobody_can_tell);
	tcase_add_test(tcase, other_rules);
	return run_tcase(tcase);
}
