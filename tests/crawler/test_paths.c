/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "crawler/paths.h"

#include "tests/suite.h"

static GPtrArray *sorted(const char *const *paths)
{
	GPtrArray *array = g_ptr_array_new();

	for (; *paths; paths++)
		g_ptr_array_add(array, (char *)*paths);
	paths_sort(array);
	return array;
}

START_TEST(in_the_order_of_directories)
{
	g_autoptr(GPtrArray) paths = sorted(
		(const char *[]){"a.b", "a/c", "a", "\xff/x", "a\001", "", "a/b/c", "a/b", NULL});
	const char *const wanted[] = {"", "a", "a/b", "a/b/c", "a/c", "a\001", "a.b", "\xff/x"};

	for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
		ck_assert_str_eq(paths->pdata[i], wanted[i]);
}
END_TEST

static void takes(const GPtrArray *paths, struct paths_part *part, const char *name, guint n,
		  bool whole, struct paths_part *below)
{
	g_autofree char *got = NULL;
	bool is_whole;

	paths_take(paths, part, &got, below, &is_whole);
	ck_assert_str_eq(got, name);
	ck_assert_uint_eq(below->end - below->first, n);
	ck_assert_int_eq(is_whole, whole);
}

START_TEST(name_by_name)
{
	g_autoptr(GPtrArray) paths =
		sorted((const char *[]){"d/e/f", "d/e/g", "d/h", "d e", "i", "i", "i/j", NULL});
	struct paths_part part = {0, paths->len, 0}, d, e, f, other;

	takes(paths, &part, "d", 3, false, &d);
	takes(paths, &part, "d e", 1, true, &other);
	takes(paths, &part, "i", 3, true, &other);
	ck_assert_uint_eq(part.first, part.end);
	takes(paths, &d, "e", 2, false, &e);
	takes(paths, &d, "h", 1, true, &other);
	ck_assert_uint_eq(d.first, d.end);
	takes(paths, &e, "f", 1, true, &f);
	takes(paths, &e, "g", 1, true, &other);
	ck_assert_uint_eq(e.first, e.end);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("paths");

	tcase_add_test(tcase, in_the_order_of_directories);
	tcase_add_test(tcase, name_by_name);
	return run_tcase(tcase);
}
