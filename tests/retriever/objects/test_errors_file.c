/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"

#include <sys/resource.h>

#include "retriever/objects/errors_file.h"
#include "tests/durable.h"

static int dir;
static GString *lines;

static void setup(void)
{
	core_fixture_setup();
	g_log_set_default_handler(core_log, NULL);
	dir = open(core_base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
	lines = g_string_new(NULL);
}

static void take(void *arg, const char *line, size_t len, uint64_t offset)
{
	g_string_append_printf(lines, "%u:", (unsigned)offset);
	g_string_append_len(lines, line, (gssize)len);
}

static void expect_lines(const char *all)
{
	struct errors_file file;

	g_string_truncate(lines, 0);
	errors_file_init(&file, dir);
	ck_assert_int_eq(errors_file_load(&file, take, NULL), *all != 0);
	ck_assert_str_eq(lines->str, all);
	errors_file_clear(&file);
}

static void expect_line(struct errors_file *file, uint64_t offset, const char *what)
{
	g_autofree char *line = errors_file_line(file, offset);

	ck_assert_pstr_eq(line, what);
}

START_TEST(lines_are_appended)
{
	struct errors_file file;
	g_autofree char *wide = g_strnfill(200000, 'x');

	expect_lines("");
	wide[199999] = '\n';
	errors_file_init(&file, dir);
	ck_assert_int_eq(errors_file_append(&file, "one\ntwo\n", 8), 0);
	expect_lines("0:one\n4:two\n");
	expect_line(&file, 4, "two\n");
	ck_assert_int_eq(errors_file_append(&file, wide, 200000), 0);
	ck_assert_int_eq(errors_file_append(&file, "end\n", 4), 0);
	expect_line(&file, 0, "one\n");
	expect_line(&file, 8, wide);
	expect_line(&file, 200008, "end\n");
	expect_line(&file, 200012, NULL);
	errors_file_clear(&file);
}
END_TEST

/* Half a line is none, and what is appended then is not its other half. */
START_TEST(a_torn_end_is_cut)
{
	struct errors_file file;
	struct stat st;
	int fd = openat(dir, ERRORS_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, "one\ntwo\nthr", 11), 11);
	errors_file_init(&file, dir);
	ck_assert(errors_file_load(&file, take, NULL));
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 8);
	close(fd);
	ck_assert_int_eq(errors_file_append(&file, "four\n", 5), 0);
	expect_lines("0:one\n4:two\n8:four\n");
	errors_file_clear(&file);
}
END_TEST

START_TEST(replaced_as_a_whole)
{
	struct errors_file file, new;

	errors_file_init(&file, dir);
	ck_assert_int_eq(errors_file_append(&file, "one\ntwo\n", 8), 0);
	ck_assert_int_eq(errors_file_begin(&file, &new), 0);
	ck_assert_int_eq(errors_file_append(&new, "two\n", 4), 0);
	expect_lines("0:one\n4:two\n");
	ck_assert_int_eq(errors_file_replace(&file, &new), 0);
	ck_assert_durable_in(dir, ERRORS_FILE);
	expect_lines("0:two\n");
	expect_line(&file, 0, "two\n");
	errors_file_clear(&new);
	errors_file_clear(&file);
}
END_TEST

START_TEST(without_a_directory)
{
	struct errors_file file, new;

	errors_file_init(&file, -1);
	ck_assert(!errors_file_load(&file, take, NULL));
	expect_line(&file, 0, NULL);
	ck_assert_int_eq(errors_file_append(&file, "one\n", 4), 0);
	expect_line(&file, 0, "one\n");
	ck_assert_int_eq(errors_file_begin(&file, &new), 0);
	ck_assert_int_eq(errors_file_append(&new, "two\n", 4), 0);
	ck_assert_int_eq(errors_file_replace(&file, &new), 0);
	expect_line(&file, 0, "two\n");
	errors_file_clear(&file);
}
END_TEST

/* A full disk: all or nothing. */
START_TEST(no_room)
{
	const struct rlimit limit = {6, 6};
	struct errors_file file;

	signal(SIGXFSZ, SIG_IGN);
	errors_file_init(&file, dir);
	ck_assert_int_eq(errors_file_append(&file, "one\n", 4), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(errors_file_append(&file, "two\nthree\n", 10), -EFBIG);
	expect_lines("0:one\n");
	ck_assert_int_eq(errors_file_append(&file, "2\n", 2), 0);
	expect_lines("0:one\n4:2\n");
	errors_file_clear(&file);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("errors_file");

	tcase_add_checked_fixture(tcase, setup, core_fixture_teardown);
	tcase_add_test(tcase, lines_are_appended);
	tcase_add_test(tcase, a_torn_end_is_cut);
	tcase_add_test(tcase, replaced_as_a_whole);
	tcase_add_test(tcase, without_a_directory);
	tcase_add_test(tcase, no_room);
	return run_tcase(tcase);
}
