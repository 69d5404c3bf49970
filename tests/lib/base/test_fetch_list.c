/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/fetch_list.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/durable.h"
#include "tests/suite.h"

START_TEST(comes_back_as_it_was)
{
	const struct fetch_list saved = {1, INT64_MIN, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2};
	struct fetch_list list = {0};
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	ck_assert(!fetch_list_load(fd, &list));
	ck_assert_int_eq(fetch_list_save(fd, &saved), 0);
	ck_assert(fetch_list_load(fd, &list));
	ck_assert_int_eq(list.names_only, 1);
	ck_assert_int_eq(list.since, saved.since);
	ck_assert_uint_eq(list.paths, saved.paths);
	ck_assert_uint_eq(list.done, saved.done);
	ck_assert_uint_eq(list.failed, saved.failed);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), FETCH_LIST_HEAD);
	ck_assert_int_eq(pwrite(fd, "Q", 1, 0), 1);
	ck_assert(!fetch_list_load(fd, &list));
	close(fd);
}
END_TEST

/* Of the list and of its name; and nothing else is left. */
START_TEST(is_durable)
{
	char top[] = "/tmp/migrate-fetch-XXXXXX";
	const struct fetch_list saved = {.paths = 2};
	g_autoptr(GString) paths = g_string_new_len("a\0b\0", 4);
	struct fetch_list list;
	unsigned number;

	ck_assert_ptr_nonnull(mkdtemp(top));
	g_autofree char *directory = g_strconcat(top, "/fetch", NULL);
	for (unsigned i = 1; i < 3; i++) {
		g_autofree char *path = g_strdup_printf("%s/%u", directory, i);

		ck_assert_int_eq(fetch_list_add(directory, &saved, paths, &number), 0);
		ck_assert_uint_eq(number, i);
		ck_assert_durable(path);
		ck_assert_durable(directory);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert(fetch_list_load(fd, &list));
		ck_assert_uint_eq(list.paths, 2);
		close(fd);
	}
	for (unsigned i = 1; i < 3; i++) {
		g_autofree char *path = g_strdup_printf("%s/%u", directory, i);

		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert_int_eq(rmdir(top), 0);
}
END_TEST

/* In a directory that cannot be. */
START_TEST(nowhere)
{
	g_autoptr(GString) paths = g_string_new("a");
	unsigned number;

	ck_assert_int_eq(fetch_list_add("/none/fetch", &(struct fetch_list){0}, paths, &number),
			 -ENOENT);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fetch_list");

	tcase_add_test(tcase, comes_back_as_it_was);
	tcase_add_test(tcase, is_durable);
	tcase_add_test(tcase, nowhere);
	return run_tcase(tcase);
}
