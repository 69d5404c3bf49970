/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/discover/inventory.h"
#include "tests/suite.h"

START_TEST(once_each)
{
	struct inventory found;

	inventory_init(&found);
	struct inventory_export *export = inventory_export(&found, "/a");
	ck_assert_ptr_eq(inventory_export(&found, "/a"), export);
	ck_assert_ptr_ne(inventory_export(&found, "/A"), export);
	ck_assert_uint_eq(found.exports->len, 2);
	struct inventory_rule *rule = inventory_rule(export, "*");
	ck_assert(rule->access == RULE_UNKNOWN && rule->squash == SQUASH_UNKNOWN);
	ck_assert_int_eq(rule->anon_uid, -1);
	struct inventory_share *share = inventory_share(&found, "Home");
	ck_assert_ptr_eq(inventory_share(&found, "hOME"), share);
	ck_assert_str_eq(share->name, "Home");
	ck_assert_str_eq(share->comment, "");
	inventory_note(&found, "%d", 5);
	ck_assert_str_eq(found.notes->pdata[0], "5");
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("inventory");

	tcase_add_test(tcase, once_each);
	return run_tcase(tcase);
}
