/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/seen_directory.h"

static const char *const f0[] = {"f0", NULL};

START_TEST(what_was_not_seen)
{
	prepare("d", 4);
	see((const char *const[]){"f0", "f3", "gone", NULL});
	see((const char *const[]){"f2", NULL});
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert_uint_eq(count_names(dir), 3);
	ck_assert(is_aside("d/f1"));
	ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 1);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 1);
	end();
}
END_TEST

START_TEST(a_listing_that_begins_anew)
{
	prepare("d", 2);
	see((const char *const[]){"f0", "f1", NULL});
	begin_anew();
	see((const char *const[]){"f1", NULL});
	ck_assert_int_eq(sweep_names(dir, NULL), 0);
	ck_assert(is_aside("f0")); /* its path is not known */
	ck_assert_uint_eq(count_names(dir), 1);
	end();
}
END_TEST

/* I2: .migrate is ours in the root, and a name like others below. */
START_TEST(our_own_directory)
{
	int root;

	prepare("d/.migrate", 0);
	root = core_root(&core);
	see((const char *const[]){"d", NULL});
	ck_assert_int_eq(sweep_names(root, ""), 0);
	ck_assert(is_there(core.root, ".migrate/staging"));
	close(dir);
	dir = open_below(root, "d", O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(is_aside("d/.migrate"));
	close(root);
	end();
}
END_TEST

/* A few always, no more than a tenth in all. */
START_TEST(a_tenth)
{
	prepare("d", 101);
	ck_assert_int_eq(sweep_names(dir, "d"), -ENOTEMPTY);
	ck_assert_uint_eq(count_names(dir), 101);
	COUNT_SET(core.retriever, files_found, 1010);
	COUNT_SET(core.retriever, left_over, 1);
	ck_assert_int_eq(sweep_names(dir, "d"), -ENOTEMPTY);
	COUNT_SET(core.retriever, left_over, 0);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert_uint_eq(count_names(dir), 0);
	end();
}
END_TEST

/* Of one name that goes all that is below it counts. */
START_TEST(a_tenth_below_one_name)
{
	int root;

	prepare("d/e", 200);
	root = core_root(&core);
	ck_assert_int_eq(sweep_names(root, ""), -ENOTEMPTY);
	ck_assert(is_there(core.root, "d/e/f199"));
	g_atomic_int_set(&core.retriever->accepted, 1);
	ck_assert_int_eq(sweep_names(root, ""), 0);
	ck_assert_int_eq(COUNT_GET(core.retriever, left_over), 202);
	close(root);
	end();
}
END_TEST

/* That is known when somebody has said so, and until the listing is another one. */
START_TEST(whole)
{
	struct source_entry file = {.has_attr = true, .attr = {.mode = S_IFREG, .nlink = 1}};

	prepare_volume("d", 1, true);
	listing_sum_set_whole(dir);
	ck_assert(!is_whole()); /* there is no sum */
	see_as(f0, file);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(!is_whole());
	listing_sum_set_whole(dir);
	ck_assert(is_whole());
	list_anew();
	ck_assert(listing_sum_sums_up(seen));
	see_as(f0, file);
	ck_assert(listing_sum_unchanged(seen, dir));
	ck_assert(is_whole());
	list_anew();
	file.attr.ctime = 1;
	see_as(f0, file);
	ck_assert(!listing_sum_unchanged(seen, dir));
	ck_assert(!is_whole());
	begin_anew();
	see_as(f0, file);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	ck_assert(!is_whole());
	end();
}
END_TEST

/* One that has names in other directories too may be made anew for their sake. */
START_TEST(never_whole)
{
	const struct source_entry file = {.has_attr = true, .attr = {.mode = S_IFREG, .nlink = 2}};

	prepare("d", 1);
	see_as(f0, file);
	ck_assert_int_eq(sweep_names(dir, "d"), 0);
	listing_sum_set_whole(dir);
	ck_assert(!is_whole());
	end();
}
END_TEST

START_TEST(counts)
{
	prepare("d", 1);
	shell("cd %s/d && ln f0 f1 && mkdir e && mkfifo p", core.root);
	COUNT_SET(core.retriever, files_found, 10);
	COUNT_SET(core.retriever, files_whole, 10);
	COUNT_SET(core.retriever, bytes_found, 100);
	COUNT_SET(core.retriever, exact, 1);
	listing_sum_uncount(core.retriever, dir, "f0"); /* there is another name */
	listing_sum_uncount(core.retriever, dir, "none");
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 10);
	ck_assert_int_eq(unlinkat(dir, "f1", 0), 0);
	listing_sum_uncount(core.retriever, dir, "f0");
	listing_sum_uncount(core.retriever, dir, "p");
	ck_assert_int_eq(COUNT_GET(core.retriever, files_found), 8);
	ck_assert_int_eq(COUNT_GET(core.retriever, files_whole), 8);
	ck_assert_int_eq(COUNT_GET(core.retriever, bytes_found), 96);
	ck_assert_int_eq(COUNT_GET(core.retriever, exact), 1);
	listing_sum_uncount(core.retriever, dir, "e");
	ck_assert_int_eq(COUNT_GET(core.retriever, exact), 0);
	end();
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("seen", 60);

	tcase_add_test(tcase, what_was_not_seen);
	tcase_add_test(tcase, a_listing_that_begins_anew);
	tcase_add_test(tcase, our_own_directory);
	tcase_add_test(tcase, a_tenth);
	tcase_add_test(tcase, a_tenth_below_one_name);
	tcase_add_test(tcase, whole);
	tcase_add_test(tcase, never_whole);
	tcase_add_test(tcase, counts);
	return run_tcase(tcase);
}
