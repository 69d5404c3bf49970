/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/socket/touched.h"
#include "tests/retriever/core.h"

static struct core core;

static void setup(void)
{
	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_source_file(&core, "d 1/\xff/g", 10000, 2);
	core_start(&core);
}

static void teardown(void)
{
	core_free(&core);
}

/* Directories are told once, and only of demand; not before somebody has asked. */
START_TEST(touched)
{
	int f = core_find(&core, "f", O_RDWR);
	int g = core_find(&core, "d 1/\xff/g", O_RDWR);

	ck_assert_int_eq(core_range(&core, f, 0, 1), 0);
	core_expect_answer(&core, "touched", "0 ");
	ck_assert_int_eq(core_range(&core, g, 0, 1), 0);
	core_expect_answer(&core, "touched", "0 [touched]\n0=d%201/%FF\n");
	ck_assert_int_eq(core_wait(core_ask_range(&core, g, 0, UINT64_MAX, MIGRATE_BACKGROUND)), 0);
	g_autofree char *none = core_control(&core, "touched");
	ck_assert_str_eq(none, "0 ");
	ck_assert_int_eq(core_range(&core, f, 0, 1), 0);
	core_expect_answer(&core, "touched", "0 [touched]\n0=\n");
	close(f);
	close(g);
}
END_TEST

/* More than an answer has room for is not noted, nor what is elsewhere. */
START_TEST(bounded)
{
	g_autofree char *first = touched_take(core.retriever);
	char name[32];

	ck_assert_str_eq(first, "");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "new%u", i);
		ck_assert_int_eq(mkdirat(core.retriever->root_fd, name, 0700), 0);
		strcat(name, "/f");
		int fd = openat(core.retriever->root_fd, name, O_CREAT | O_RDWR, 0600);
		ck_assert_int_ge(fd, 0);
		touched_note(core.retriever, fd);
		close(fd);
	}
	int elsewhere = open("/dev/null", O_RDONLY);
	g_autofree char *many = touched_take(core.retriever);
	g_auto(GStrv) lines = g_strsplit(many, "\n", -1);
	ck_assert_uint_eq(g_strv_length(lines), 1 + 32 + 1);
	touched_note(core.retriever, elsewhere);
	touched_note(core.retriever, core.retriever->root_fd);
	g_autofree char *none = touched_take(core.retriever);
	ck_assert_str_eq(none, "");
	close(elsewhere);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("touched", 30);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, touched);
	tcase_add_test(tcase, bounded);
	return run_tcase(tcase);
}
