/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/found.h"
#include "tests/suite.h"

START_TEST(once_each)
{
	struct found found;

	found_init(&found);
	struct found_export *export = found_export(&found, "/a");
	ck_assert_ptr_eq(found_export(&found, "/a"), export);
	ck_assert_ptr_ne(found_export(&found, "/A"), export);
	ck_assert_uint_eq(found.exports->len, 2);
	struct found_rule *rule = found_rule(export, "*");
	ck_assert(rule->access == RULE_UNKNOWN && rule->squash == SQUASH_UNKNOWN);
	ck_assert_int_eq(rule->anon_uid, -1);
	struct found_share *share = found_share(&found, "Home");
	ck_assert_ptr_eq(found_share(&found, "hOME"), share);
	ck_assert_str_eq(share->name, "Home");
	ck_assert_str_eq(share->comment, "");
	found_note(&found, "%d", 5);
	ck_assert_str_eq(found.notes->pdata[0], "5");
	found_clear(&found);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("found");
	TCase *tcase = tcase_create("found");

	tcase_add_test(tcase, once_each);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
