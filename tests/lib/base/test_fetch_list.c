/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/fetch_list.h"

#include <fcntl.h>
#include <unistd.h>

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

int main(void)
{
	TCase *tcase = tcase_create("fetch_list");

	tcase_add_test(tcase, comes_back_as_it_was);
	return run_tcase(tcase);
}
