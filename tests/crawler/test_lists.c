/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On a tree in which all is whole, so that no retriever is asked. */
#include "crawler/lists.h"

#include <string.h>
#include <sys/file.h>

#include "lib/base/fetch_list.h"
#include "tests/crawler/tree.h"
#include "tests/suite.h"

#define DIRECTORY "/mnt/" FETCH_LIST_DIR

static struct lists lists;
static int root;

static void setup(void)
{
	const char *const paths[] = {"a", "a/b", "c", MIGRATE_PRIVATE_DIR, FETCH_LIST_DIR, NULL};

	tree_dirs(paths);
	ck_assert(g_file_set_contents("a/f", "", 0, NULL));
	ck_assert_int_eq(symlink("a", "link"), 0);
	root = open("/mnt", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void make_list(const char *name, const char *const *paths, uint64_t claimed)
{
	struct fetch_list list = {.paths = claimed};
	g_autofree char *file = g_build_filename(DIRECTORY, name, NULL);
	int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_eq(fetch_list_save(fd, &list), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), FETCH_LIST_HEAD);
	for (; *paths; paths++)
		ck_assert_int_gt(write(fd, *paths, strlen(*paths) + 1), 0);
	close(fd);
}

static bool there(const char *name)
{
	g_autofree char *file = g_build_filename(DIRECTORY, name, NULL);

	return access(file, F_OK) == 0;
}

/* Whatever is said by what fails. */
static char *work(bool tell)
{
	static char said[4096];
	FILE *file = tmpfile();
	int64_t now = 0;

	fflush(stderr);
	int before = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	lists_begin(&lists, "/mnt", root, NULL, tell);
	for (unsigned i = 0; i < 3 || lists.all->len; i++)
		lists_step(&lists, 4, now += 1000);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
	fclose(file);
	return said;
}

START_TEST(what_is_there)
{
	make_list("1", (const char *[]){"a/f", "a/b", "c", "link", NULL}, 4);
	make_list("2", (const char *[]){"", "a", NULL}, 2);
	ck_assert_str_eq(work(false), "");
	ck_assert(!there("1") && !there("2"));
	lists_end(&lists);
}
END_TEST

START_TEST(what_failed_is_kept_until_it_is_told)
{
	struct fetch_list list;

	make_list("7", (const char *[]){"a/gone/x", "a/f/x", "link/f", "c", "\n", NULL}, 5);
	ck_assert_str_eq(work(false), "");
	lists_end(&lists);
	int fd = open(DIRECTORY "/7", O_RDONLY | O_CLOEXEC);
	ck_assert(fetch_list_load(fd, &list));
	close(fd);
	ck_assert_uint_eq(list.done, 5);
	ck_assert_uint_eq(list.failed, 4);
	const char *said = work(true);
	ck_assert_ptr_nonnull(strstr(said, "a/gone/x: no such name\n"));
	ck_assert_ptr_nonnull(strstr(said, "a/f/x: Not a directory\n"));
	ck_assert_ptr_nonnull(strstr(said, "link/f: a symbolic link leads on"));
	ck_assert_ptr_nonnull(strstr(said, "\\012: no such name\n"));
	ck_assert_uint_eq(lists.failed, 4);
	ck_assert(!there("7"));
	lists_end(&lists);
}
END_TEST

START_TEST(what_is_no_list_is_left_alone)
{
	make_list("1", (const char *[]){"a", NULL}, 2); /* one is not there */
	ck_assert(g_file_set_contents(DIRECTORY "/2", "quickmigrate", -1, NULL));
	ck_assert(g_file_set_contents(DIRECTORY "/other", "", 0, NULL));
	work(false);
	ck_assert(there("1") && there("2") && there("other") && !lists_any(&lists));
	lists_end(&lists);
}
END_TEST

/* Which tells what failed and removes it; then there is another list of this number. */
START_TEST(another_crawler_works_on_it)
{
	const struct fetch_list through = {.paths = 1, .done = 1, .failed = 1};
	const char *const gone[] = {"a/gone", NULL};

	make_list("1", (const char *[]){"a", "was/there", "no reason", NULL}, 1);
	int fd = open(DIRECTORY "/1", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	work(false);
	ck_assert(!lists_any(&lists) && there("1"));
	lists_end(&lists);
	lists_begin(&lists, "/mnt", root, NULL, true);
	lists_step(&lists, 4, 1000);
	ck_assert(lists_any(&lists) && there("1"));
	ck_assert_int_eq(fetch_list_save(fd, &through), 0);
	ck_assert_int_eq(unlink(DIRECTORY "/1"), 0);
	make_list("1", gone, 1);
	close(fd);
	for (int64_t now = 2000; lists_any(&lists); now += 1000)
		lists_step(&lists, 4, now);
	ck_assert_uint_eq(lists.failed, 2);
	ck_assert(!there("1"));
	lists_end(&lists);
}
END_TEST

/* Each of them may have many descriptors. */
START_TEST(so_many_at_a_time)
{
	char name[12];

	for (unsigned i = 1; i <= 20; i++) {
		g_snprintf(name, sizeof name, "%u", i);
		make_list(name, (const char *[]){"a", NULL}, 1);
	}
	const unsigned before = tree_open_fds();
	lists_begin(&lists, "/mnt", root, NULL, true);
	ck_assert_uint_le(tree_open_fds(), before + 4);
	for (int64_t now = 0; lists_any(&lists); now += 1000)
		lists_step(&lists, 4, now);
	for (unsigned i = 1; i <= 20; i++) {
		g_snprintf(name, sizeof name, "%u", i);
		ck_assert(!there(name));
	}
	ck_assert_uint_eq(lists.failed, 0);
	lists_end(&lists);
}
END_TEST

START_TEST(damage_is_told)
{
	const struct fetch_list senseless = {.done = 1};

	make_list("1", (const char *[]){"a", NULL}, 2);
	make_list("2", (const char *[]){NULL}, 0);
	int fd = open(DIRECTORY "/2", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fetch_list_save(fd, &senseless), 0);
	close(fd);
	ck_assert_ptr_nonnull(strstr(work(true), "/1 is damaged"));
	ck_assert(there("1") && !there("2"));
	ck_assert_uint_eq(lists.failed, 1);
	lists_end(&lists);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("lists");

	tcase_add_checked_fixture(tcase, tree_mount, NULL);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, what_is_there);
	tcase_add_test(tcase, what_failed_is_kept_until_it_is_told);
	tcase_add_test(tcase, what_is_no_list_is_left_alone);
	tcase_add_test(tcase, another_crawler_works_on_it);
	tcase_add_test(tcase, so_many_at_a_time);
	tcase_add_test(tcase, damage_is_told);
	return run_tcase(tcase);
}
