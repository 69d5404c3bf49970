/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "crawler/progress.h"
#include "tests/suite.h"

static struct progress progress;

static void report(unsigned files, unsigned long bytes, unsigned errors, const char *rest)
{
	g_autofree char *text = g_strdup_printf(
		"[volume]\nstate=migrating\n"
		"[counters]\nfiles-found=1000\nfiles-whole=%u\nbytes-found=1000000\n"
		"bytes-whole=%lu\nerrors=%u\n"
		"[now]\nclients-wait=true\nsource-away-seconds=0\npaused=false\n"
		"files-per-second=12\nbytes-per-second=2048\n"
		"[rest]\ntext=%s\n[namespace]\ncomplete=true\n",
		files, bytes, errors, rest);

	ck_assert(progress_report(&progress, text));
}

static void setup(void)
{
	memset(&progress, 0, sizeof(progress));
}

START_TEST(takes_up)
{
	report(5, 6, 3, "measuring");
	ck_assert_str_eq(progress.state, "migrating");
	ck_assert(progress.names_complete && !progress.paused);
	ck_assert_uint_eq(progress.files_whole, 5);
	ck_assert_uint_eq(progress.bytes_found, 1000000);
	ck_assert_uint_eq(progress.errors, 3);
	ck_assert(progress.clients_wait);
	ck_assert(!progress_report(&progress, "nonsense"));
	ck_assert(!progress_report(&progress, ""));
}
END_TEST

/* The time is the retriever's. */
START_TEST(one_line)
{
	report(900, 524288, 1, "about 13 s (11 s to 15 s)");
	g_autofree char *line = progress_line(&progress);
	ck_assert_str_eq(line, "files 900/1000  512.0\302\240KiB/976.6\302\240KiB  12 files/s  "
			       "2.0\302\240KiB/s  about 13 s (11 s to 15 s)  1 error");
	progress.bytes_found = 0;
	progress.errors = 2;
	g_autofree char *empty = progress_line(&progress);
	ck_assert_str_eq(empty, "files 900/1000  12 files/s  2.0\302\240KiB/s  "
				"about 13 s (11 s to 15 s)  2 errors");
}
END_TEST

START_TEST(settings)
{
	struct progress_settings settings;

	ck_assert(progress_settings(&settings, "[settings]\nroot=/a b\\\\c\nhold-ms=500\n"
					       "crawler-workers=4\ncrawler-order=depth-first\n"));
	ck_assert_str_eq(settings.root, "/a b\\c");
	ck_assert_str_eq(settings.order, "depth-first");
	ck_assert_uint_eq(settings.workers, 4);
	progress_settings_clear(&settings);
	ck_assert(!progress_settings(&settings, "[settings]\nroot=/a\n"));
	ck_assert(!progress_settings(&settings, "root"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("progress");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, takes_up);
	tcase_add_test(tcase, one_line);
	tcase_add_test(tcase, settings);
	return run_tcase(tcase);
}
