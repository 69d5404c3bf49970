/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/config/owners.h"
#include "tests/suite.h"

START_TEST(maps)
{
	struct owners *owners =
		owners_parse(" 1000:2000, 3000-3999:13000\t5:6,6:5 4294967294:7 ", NULL);

	ck_assert_ptr_nonnull(owners);
	ck_assert_uint_eq(owners_map(owners, 1000), 2000);
	ck_assert_uint_eq(owners_map(owners, 999), 999);
	ck_assert_uint_eq(owners_own(owners, 1000), 2000);
	ck_assert_uint_eq(owners_own(owners, OWNER_NONE), OWNER_NOBODY);
	ck_assert_uint_eq(owners_own(NULL, OWNER_NONE), OWNER_NOBODY);
	ck_assert_uint_eq(owners_map(owners, 1001), 1001);
	ck_assert_uint_eq(owners_map(owners, 3000), 13000);
	ck_assert_uint_eq(owners_map(owners, 3999), 13999);
	ck_assert_uint_eq(owners_map(owners, 4000), 4000);
	ck_assert_uint_eq(owners_map(owners, 2999), 2999);
	ck_assert_uint_eq(owners_map(owners, 5), 6);
	ck_assert_uint_eq(owners_map(owners, 6), 5);
	ck_assert_uint_eq(owners_map(owners, 4294967294u), 7);
	ck_assert_uint_eq(owners_map(owners, 0), 0);
	ck_assert_uint_eq(owners_map(NULL, 17), 17);
	owners_free(owners);
}
END_TEST

START_TEST(unmaps)
{
	struct owners *owners = owners_parse("1000:2000 5:6 6:5 10-19:30", NULL);
	uint32_t old;

	ck_assert(owners_unmap(owners, 2000, &old) && old == 1000);
	ck_assert(owners_unmap(owners, 6, &old) && old == 5);
	ck_assert(owners_unmap(owners, 39, &old) && old == 19);
	ck_assert(owners_unmap(owners, 77, &old) && old == 77);
	ck_assert(!owners_unmap(owners, 1000, &old) && old == 1000);
	ck_assert(!owners_unmap(owners, 12, &old));
	ck_assert(owners_unmap(NULL, 12, &old) && old == 12);
	owners_free(owners);
}
END_TEST

/* What is kept beside what others become. */
START_TEST(shared)
{
	struct owners *owners = owners_parse("1000:2000 5:6 6:5 10-19:30", NULL);

	ck_assert(owners_is_shared(owners, 2000));
	ck_assert(!owners_is_shared(owners, 1000));
	ck_assert(!owners_is_shared(owners, 5));
	ck_assert(!owners_is_shared(owners, 6));
	ck_assert(!owners_is_shared(owners, 29));
	ck_assert(owners_is_shared(owners, 30));
	ck_assert(owners_is_shared(owners, 39));
	ck_assert(!owners_is_shared(owners, 40));
	ck_assert(!owners_is_shared(NULL, 2000));
	owners_free(owners);
}
END_TEST

START_TEST(refused)
{
	static const char *const bad[][2] = {
		{"", "nothing is mapped"},
		{" , ", "nothing is mapped"},
		{"1000", "OLD:NEW"},
		{"1:2:3", "OLD:NEW"},
		{"1000=2000", "OLD:NEW"},
		{"a:1", "a number from 0"},
		{"1:", "a number from 0"},
		{":1", "a number from 0"},
		{"-1:1", "a number from 0"},
		{"1-:5", "a number from 0"},
		{"4294967295:1", "a number from 0"},
		{"1:4294967295", "a number from 0"},
		{"99999999999999999999:1", "a number from 0"},
		{"5-4:9", "ends before it begins"},
		{"0-9:4294967290", "end beyond"},
		{"1:2 1:3", "1 is mapped twice"},
		{"1-9:20 5:3", "5 is mapped twice"},
		{"1:2 3:2", "1 and 3 of the old server would both be 2"},
		{"10-19:100 30-39:105", "15 and 30 of the old server would both be 105"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_msg(owners_parse(bad[i][0], &error) == NULL, "%s", bad[i][0]);
		ck_assert_msg(strstr(error->message, bad[i][1]) != NULL, "%s: %s", bad[i][0],
			      error->message);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("owners");

	tcase_add_test(tcase, maps);
	tcase_add_test(tcase, unmaps);
	tcase_add_test(tcase, shared);
	tcase_add_test(tcase, refused);
	return run_tcase(tcase);
}
