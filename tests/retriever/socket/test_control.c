/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What migratectl may say, and what it is told. */
#include "tests/retriever/core.h"

#include <sys/xattr.h>

static struct core core;

static void setup(void)
{
	core_make(&core);
	core_source_file(&core, "f", 10000, 1);
	core_start(&core);
}

static void teardown(void)
{
	core_free(&core);
}

START_TEST(settings)
{
	g_autofree char *root = g_strconcat("root=", core.root, "\n", NULL);

	core_expect_answer(&core, "settings", root);
	core_expect_answer(&core, "settings", "crawler-order=namespace-first\n");
	core_expect_answer(&core, "settings", "paused=false\n");
}
END_TEST

START_TEST(status)
{
	core_expect_answer(&core, "status", "0 ");
	core_expect_answer(&core, "status", "state=migrating\n");
	core_expect_answer(&core, "status", "unfilled-directories=1\n");
	core_expect_answer(&core, "status", "complete=false\n");
	core_expect_answer(&core, "status", "crawlers=0\n");
}
END_TEST

START_TEST(throttled_and_paused)
{
	core_expect_answer(&core, "throttle 50M", "0 ");
	core_expect_answer(&core, "status", "bandwidth=52428800\n");
	core_expect_answer(&core, "throttle 0", "0 ");
	core_expect_answer(&core, "status", "bandwidth=0\n");
	core_expect_answer(&core, "throttle fast", "-22 throttle needs bytes per second");
	core_expect_answer(&core, "throttle", "-22 throttle needs bytes per second");
	core_expect_answer(&core, "pause", "0 ");
	core_expect_answer(&core, "status", "paused=true\n");
	core_expect_answer(&core, "resume", "0 ");
	core_expect_answer(&core, "status", "paused=false\n");
}
END_TEST

START_TEST(what_is_no_command)
{
	core_expect_answer(&core, "reformat", "-22 the retriever does not know this command");
	core_expect_answer(&core, "status-", "-22 ");
	core_expect_answer(&core, " ", "-22 ");
}
END_TEST

static int make_deep(int fd, unsigned levels)
{
	static char name[200];

	memset(name, 'x', sizeof(name) - 1);
	for (unsigned i = 0; i < levels; i++) {
		ck_assert_int_eq(mkdirat(fd, name, 0700), 0);
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY);

		ck_assert_int_ge(next, 0);
		close(fd);
		fd = next;
	}
	return fd;
}

/* Paths for which one answer has no room: each is in one, and the last answer says so. */
START_TEST(long_paths_that_are_set_aside)
{
	unsigned listed = 0, pages = 0;
	gint64 next = 0;

	ck_assert_int_eq(mkdirat(core.retriever->private_fd, "aside", 0700), 0);
	int fd = openat(core.retriever->private_fd, "aside", O_RDONLY | O_DIRECTORY);
	fd = make_deep(fd, 40);
	for (unsigned i = 0; i < 40; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(mkdirat(fd, name, 0700), 0);
	}
	close(fd);
	for (; next >= 0; pages++) {
		g_autofree char *command = g_strdup_printf("aside %" G_GINT64_FORMAT, next);
		g_autofree char *text = core_control(&core, command);
		g_autoptr(GKeyFile) page = g_key_file_new();

		ck_assert(
			g_key_file_load_from_data(page, strchr(text, ' ') + 1, (gsize)-1, 0, NULL));
		g_auto(GStrv) groups = g_key_file_get_groups(page, NULL);
		listed += g_strv_length(groups) - 1;
		gint64 then = g_key_file_get_int64(page, "list", "next", NULL);
		ck_assert(then < 0 || then > next);
		next = then;
	}
	ck_assert_uint_eq(listed, 40);
	ck_assert_uint_gt(pages, 2);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("control", 30);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, settings);
	tcase_add_test(tcase, status);
	tcase_add_test(tcase, throttled_and_paused);
	tcase_add_test(tcase, what_is_no_command);
	tcase_add_test(tcase, long_paths_that_are_set_aside);
	return run_tcase(tcase);
}
