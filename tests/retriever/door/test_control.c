/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What migratectl may say, and what it is told. */
#include "core.h"

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

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = CORE_TCASE(suite, "control", 30);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, settings);
	tcase_add_test(tcase, status);
	tcase_add_test(tcase, throttled_and_paused);
	tcase_add_test(tcase, what_is_no_command);
	return run_suite(suite);
}
