/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/seen_directory.h"

static struct name_diff diff;

static void compare(int fd, bool root)
{
	name_diff_sort(names_seen, NULL);
	ck_assert_int_eq(name_diff_make(fd, root, names_seen, &diff), 0);
}

START_TEST(i13_both_sides)
{
	prepare("d", 3);
	see((const char *const[]){"f0", "f2", "F1", "f0", NULL}); /* one comes twice */
	compare(dir, false);
	ck_assert_uint_eq(diff.unlisted->len, 1);
	ck_assert_str_eq(diff.unlisted->pdata[0], "f1");
	ck_assert_uint_eq(diff.lacking->len, 1);
	ck_assert(listing_entries_has(diff.lacking, listing_sum_hash("F1")));
	name_diff_clear(&diff);
	end();
}
END_TEST

START_TEST(i13_the_same)
{
	prepare("d", 2);
	see((const char *const[]){"f1", "f0", NULL});
	compare(dir, false);
	ck_assert_uint_eq(diff.unlisted->len, 0);
	ck_assert_uint_eq(diff.lacking->len, 0);
	name_diff_clear(&diff);
	end();
}
END_TEST

/* Nothing is known then, which is not that nothing differs. */
START_TEST(i13_names_that_cannot_be_read)
{
	uint64_t sum;
	int file;

	prepare("d", 1);
	file = openat(dir, "f0", O_RDONLY | O_CLOEXEC);
	see((const char *const[]){"f0", NULL});
	ck_assert_int_eq(name_diff_make(file, false, names_seen, &diff), -ENOTDIR);
	ck_assert_ptr_null(diff.unlisted);
	ck_assert_int_eq(name_diff_sum(file, false, &sum), -ENOTDIR);
	close(file);
	end();
}
END_TEST

/* The sum knows names and inodes, and no order. */
START_TEST(i13_sums)
{
	uint64_t before, swapped, back;

	prepare("d", 2);
	ck_assert_int_eq(name_diff_sum(dir, false, &before), 0);
	shell("cd %s/d && mv f0 x && mv f1 f0 && mv x f1", core.root);
	ck_assert_int_eq(name_diff_sum(dir, false, &swapped), 0);
	ck_assert_uint_ne(before, swapped);
	shell("cd %s/d && mv f0 x && mv f1 f0 && mv x f1", core.root);
	ck_assert_int_eq(name_diff_sum(dir, false, &back), 0);
	ck_assert_uint_eq(before, back);
	end();
}
END_TEST

START_TEST(our_own_directory)
{
	int root;

	prepare("d", 0);
	root = core_root(&core);
	see((const char *const[]){"d", NULL});
	compare(root, true);
	ck_assert_uint_eq(diff.unlisted->len, 0);
	name_diff_clear(&diff);
	compare(root, false);
	ck_assert_uint_eq(diff.unlisted->len, 1);
	name_diff_clear(&diff);
	close(root);
	end();
}
END_TEST

START_TEST(what_is_left_out)
{
	g_autoptr(GArray) without = listing_entries_array();
	uint64_t one = 1, two = 2;

	names_seen = listing_entries_array();
	g_array_append_val(names_seen, two);
	g_array_append_val(names_seen, one);
	g_array_append_val(names_seen, two);
	g_array_append_val(without, one);
	name_diff_sort(names_seen, without);
	ck_assert_uint_eq(names_seen->len, 1);
	ck_assert_uint_eq(g_array_index(names_seen, uint64_t, 0), 2);
	g_array_unref(names_seen);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("name_diff", 60);

	tcase_add_test(tcase, i13_both_sides);
	tcase_add_test(tcase, i13_the_same);
	tcase_add_test(tcase, i13_names_that_cannot_be_read);
	tcase_add_test(tcase, i13_sums);
	tcase_add_test(tcase, our_own_directory);
	tcase_add_test(tcase, what_is_left_out);
	return run_tcase(tcase);
}
