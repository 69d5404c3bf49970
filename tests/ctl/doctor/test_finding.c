/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/doctor/finding.h"

#include "tests/suite.h"

START_TEST(a_finding_is_a_line)
{
	g_autoptr(GPtrArray) findings = findings_new();

	ck_assert_int_eq(findings_worst(findings), FINDING_OK);
	findings_add(findings, FINDING_FAULT, "Guard", "start it", "is %s", "off\nfor now");
	findings_add(findings, FINDING_OK, "Journal", NULL, "is on");
	ck_assert_int_eq(findings_worst(findings), FINDING_FAULT);
	g_autofree char *text = findings_text(findings);
	ck_assert_str_eq(text, "fault    Guard         is off\\012for now; start it\n"
			       "ok       Journal       is on\n");
}
END_TEST

START_TEST(a_program_is_asked)
{
	g_autofree char *said = FINDING_ASK("sh", "-c", "echo ' yes'; exit 3");
	g_autofree char *nothing = FINDING_ASK("true"), *none = FINDING_ASK("/nonexistent");

	ck_assert_str_eq(said, "yes");
	ck_assert_ptr_null(nothing);
	ck_assert_ptr_null(none);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("finding");

	tcase_add_test(tcase, a_finding_is_a_line);
	tcase_add_test(tcase, a_program_is_asked);
	return run_tcase(tcase);
}
