/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/suite.h"

#include <string.h>

#include "common/record.h"
#include "retriever/making/make_parent.h"

START_TEST(paths_of_children)
{
	g_autofree char *longest = g_strnfill(MIGRATE_REC_MAX_PATH - 2, 'x');
	g_autofree char *first = make_child_path("", "name");
	g_autofree char *below = make_child_path("a/b", "name");
	g_autofree char *fits = make_child_path(longest, "n");

	ck_assert_str_eq(first, "name");
	ck_assert_str_eq(below, "a/b/name");
	ck_assert_uint_eq(strlen(fits), MIGRATE_REC_MAX_PATH);
	ck_assert_ptr_null(make_child_path(longest, "no"));
	ck_assert_ptr_null(make_child_path(NULL, "name"));
}
END_TEST

/* What cannot be asked has no room. */
START_TEST(room)
{
	ck_assert(!make_has_room(-1));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("make_parent");

	tcase_add_test(tcase, paths_of_children);
	tcase_add_test(tcase, room);
	return run_tcase(tcase);
}
