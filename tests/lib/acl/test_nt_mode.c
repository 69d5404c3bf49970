/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/acl/nt_mode.h"

#include "tests/retriever/nt_support.h"
#include "tests/suite.h"

#define OTHER "S-1-5-21-1-2-3-1077"

static mode_t mode_of(unsigned control, const char *dacl, bool directory, bool owner, bool group)
{
	g_autoptr(GByteArray) sd = nt_text(control, ANNA, STAFF, NULL, dacl);
	const char *why = "";
	struct nt_descriptor *decoded = nt_decode(sd->data, sd->len, &why);
	mode_t mode;

	ck_assert_msg(decoded != NULL, "%s", why);
	mode = nt_mode(decoded, directory, owner, group);
	nt_free(decoded);
	return mode;
}

static void expect_file(const char *dacl, mode_t mode)
{
	ck_assert_msg(mode_of(0x8004, dacl, false, true, true) == mode, "%s: %o", dacl,
		      mode_of(0x8004, dacl, false, true, true));
}

static void expect_directory(const char *dacl, mode_t mode)
{
	ck_assert_msg(mode_of(0x8004, dacl, true, true, true) == mode, "%s: %o", dacl,
		      mode_of(0x8004, dacl, true, true, true));
}

START_TEST(who)
{
	expect_file("0 0 1f01ff " ANNA, 0700);
	expect_file("0 0 1f01ff " STAFF, 0070);
	expect_file("0 0 1f01ff " WORLD, 0777);
	expect_file("0 0 120089 S-1-5-11", 0444);
	expect_file("0 0 1f01ff S-1-5-32-545", 0); /* who is in it is not known here */
	expect_file("0 0 120089 S-1-5-2", 0444);
	expect_file("0 0 1f01ff S-1-3-4", 0700);
	expect_file("0 0 1f01ff " OTHER, 0);
	expect_file("0 0 1f01ff S-1-5-32-544", 0);
	expect_file("0 0 1f01ff " ANNA ",0 0 1200a9 " STAFF ",0 0 120089 " WORLD, 0754);
	/* nobody here */
	ck_assert_uint_eq(mode_of(0x8004, "0 0 1f01ff " ANNA ",0 0 1 " WORLD, false, false, true),
			  0444);
	ck_assert_uint_eq(mode_of(0x8004, "0 0 1f01ff " STAFF ",0 0 1 " WORLD, false, true, false),
			  0444);
	/* he may be one of those who are denied it */
	ck_assert_uint_eq(mode_of(0x8004, "1 0 1 " STAFF ",0 0 1f01ff " WORLD, false, false, true),
			  0337);
}
END_TEST

START_TEST(rights)
{
	expect_file("0 0 1 " ANNA, 0400);
	expect_file("0 0 2 " ANNA, 0);
	expect_file("0 0 4 " ANNA, 0);
	expect_file("0 0 6 " ANNA, 0200);
	expect_file("0 0 20 " ANNA, 0100);
	expect_file("0 0 10000000 " ANNA, 0700);
	expect_file("0 0 20000000 " ANNA, 0100);
	expect_file("0 0 40000000 " ANNA, 0200);
	expect_file("0 0 80000000 " ANNA, 0400);
	expect_file("0 0 1301bf " ANNA, 0700); /* "modify" */
	expect_file("0 0 1200a9 " ANNA, 0500); /* "read & execute" */
	expect_directory("0 0 1301bf " ANNA, 0700);
	expect_directory("0 0 1f01ff " ANNA, 0700);
	expect_directory("0 0 6 " ANNA, 0); /* may add, not delete */
	expect_directory("0 0 46 " ANNA, 0200);
	/* together with what everybody has */
	expect_file("0 0 2 " ANNA ",0 0 4 " WORLD, 0200);
}
END_TEST

/* Who may delete what is in it by entries of its own may delete that, and not what others own. */
START_TEST(directories_from_which_not_all_may_be_deleted)
{
	expect_directory("0 0 1301bf S-1-5-11", 01777);
	expect_directory("0 3 1301bf " WORLD ",0 0 1f01ff " ANNA, 01777);
	expect_directory("0 0 1301bf " STAFF, 01070);
	expect_directory("0 0 1301ff " STAFF, 0070);
	expect_directory("0 0 1f01ff " STAFF ",0 0 1301bf " WORLD, 01777);
	expect_directory("0 0 1f01ff " WORLD, 0777);
	expect_directory("0 0 1200af " WORLD, 0555);
	expect_file("0 0 1301bf " WORLD, 0777);
	/* its owner is no matter of stickiness */
	ck_assert_uint_eq(mode_of(0x8004, "0 0 1301bf " WORLD, true, false, true), 01577);
	ck_assert_uint_eq(mode_of(0x8004, "0 0 1f01ff " WORLD, true, false, true), 0777);
}
END_TEST

static bool decode_and(const char *dacl, bool (*ask)(const struct nt_descriptor *sd))
{
	g_autoptr(GByteArray) sd = nt_text(0x8004, ANNA, STAFF, NULL, dacl);
	const char *why = "";
	struct nt_descriptor *decoded = nt_decode(sd->data, sd->len, &why);
	bool yes;

	ck_assert_msg(decoded != NULL, "%s", why);
	yes = ask(decoded);
	nt_free(decoded);
	return yes;
}

START_TEST(owners_who_may_not_change_it)
{
	static const struct {
		const char *dacl;
		bool bound;
	} cases[] = {
		{"0 0 1f01ff " ANNA, false},
		{"", false},
		{"0 0 1301bf S-1-3-4", true},
		{"0 0 1301bf S-1-3-4,0 0 1f01ff " STAFF, true},
		{"0 0 1f01ff S-1-3-4", false},
		{"0 0 1301bf S-1-3-4,0 0 40000 " ANNA, false},
		{"0 0 10000000 " WORLD ",0 0 1301bf S-1-3-4", false},
		{"0 b 1301bf S-1-3-4", false},
		{"1 0 40000 S-1-3-4", true},
		{"1 0 2 S-1-3-4,0 0 1f01ff " ANNA, false},
		{"1 0 40000 " OTHER ",0 0 1f01ff S-1-3-4", true},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		ck_assert_msg(decode_and(cases[i].dacl, nt_owner_is_bound) == cases[i].bound, "%s",
			      cases[i].dacl);
}
END_TEST

static bool is_less(const struct nt_descriptor *sd)
{
	return nt_mode_is_less(sd, nt_mode(sd, true, true, true));
}

START_TEST(what_the_bits_do_not_say)
{
	ck_assert(!decode_and("0 0 1f01ff " ANNA ",0 0 1200a9 " WORLD, is_less));
	ck_assert(decode_and("0 0 1f01ff " ANNA ",0 0 120089 " OTHER, is_less));
	ck_assert(decode_and("0 0 1f01ff " ANNA ",0 0 2 " WORLD, is_less));
	ck_assert(decode_and("0 0 1f01ff " ANNA ",0 0 100 " WORLD, is_less));
	ck_assert(decode_and("1 0 1 " OTHER ",0 0 1f01ff " ANNA ",0 0 1200a9 " WORLD, is_less));
	ck_assert(decode_and("0 0 1301bf " WORLD, is_less));
	ck_assert(decode_and("9 0 1 " WORLD " 61727478", is_less));
}
END_TEST

START_TEST(denials)
{
	expect_file("1 0 2 " ANNA ",0 0 1f01ff " WORLD, 0577);
	expect_file("1 0 4 " STAFF ",0 0 1f01ff " WORLD, 0557);
	expect_file("1 0 1 " OTHER ",0 0 1f01ff " WORLD, 0333);
	expect_file("1 0 20 " WORLD ",0 0 1f01ff " ANNA, 0600);
	expect_file("0 0 1f01ff " WORLD ",1 0 1 " OTHER, 0333); /* wherever it stands */
	expect_file("1 0 10000000 " WORLD ",0 0 1f01ff " WORLD, 0);
	expect_file("1 0 2 S-1-3-4,0 0 1f01ff " WORLD, 0577);
	expect_file("6 0 1 " OTHER " 00000000,0 0 1f01ff " WORLD, 0333);
	expect_directory("1 0 40 " OTHER ",0 0 1f01ff " WORLD, 0555);
	expect_file("1 0 40 " OTHER ",0 0 1f01ff " WORLD, 0777);
	/* nobody here: who it is cannot be told */
	ck_assert_uint_eq(mode_of(0x8004, "1 0 1 " ANNA ",0 0 1f01ff " WORLD, false, false, true),
			  0333);
	ck_assert_uint_eq(mode_of(0x8004, "1 0 1 " STAFF ",0 0 1f01ff " WORLD, false, true, false),
			  0333);
	ck_assert_uint_eq(mode_of(0x8004, "1 0 6 S-1-3-4,0 0 1f01ff " WORLD, false, false, true),
			  0555);
}
END_TEST

START_TEST(what_does_not_count)
{
	expect_directory("0 b 1f01ff " ANNA ",0 0 1 " WORLD, 0444);
	expect_directory("1 b 1f01ff " ANNA ",0 0 1 " WORLD, 0444);
	expect_file("9 0 1f01ff " WORLD " 61727478", 0);
	expect_file("5 0 1f01ff " WORLD " 00000000", 0);
	ck_assert_uint_eq(mode_of(0x8004, NULL, false, true, true), 0777);
	ck_assert_uint_eq(mode_of(0x8000, NULL, false, true, true), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("nt_mode");

	tcase_add_test(tc, who);
	tcase_add_test(tc, rights);
	tcase_add_test(tc, directories_from_which_not_all_may_be_deleted);
	tcase_add_test(tc, owners_who_may_not_change_it);
	tcase_add_test(tc, what_the_bits_do_not_say);
	tcase_add_test(tc, denials);
	tcase_add_test(tc, what_does_not_count);
	return run_tcase(tc);
}
