/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_attributes.h"

/* What is missing decides what the way back must not take away there. */
START_TEST(what_is_left)
{
	static const struct {
		enum loss_kind kind;
		const char *text;
		unsigned what;
	} cases[] = {
		{LOSS_ACL, "the ACL", LEFT_ACL},
		{LOSS_MODE, "the mode", LEFT_MODE},
		{LOSS_SOURCE, "security.selinux", LEFT_SOURCE},
		{LOSS_SOURCE, "user.x", LEFT_ACL | LEFT_OTHERS},
		{LOSS_VOLUME, "times of access", 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct attributes_result carried = {0};

		attributes_lose(&carried, cases[i].kind, "%s", cases[i].text);
		ck_assert_uint_eq(carried.left.what, cases[i].what);
		ck_assert_uint_eq(carried.lost->len, 1);
		attributes_clear(&carried);
		ck_assert_ptr_null(carried.lost);
	}
}
END_TEST

START_TEST(reported_with_their_paths)
{
	struct attributes_result carried = {0};
	int root;

	make();
	core_start(&core);
	root = core_root(&core);
	attributes_lose_xattr(&carried, "user.a", 5, "why");
	attributes_lose(&carried, LOSS_VOLUME, "for %s", "all");
	ck_assert_int_eq(attributes_report(core.retriever, &carried, root, "f"), 0);
	core_expect_report(&core, "/f\tuser.a (5 bytes) could not be set (why)");
	core_expect_report(&core, "for all");
	attributes_clear(&carried);
	core_free_with(&core, root);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("attributes_result", 60);

	tcase_add_test(tcase, what_is_left);
	tcase_add_test(tcase, reported_with_their_paths);
	return run_tcase(tcase);
}
