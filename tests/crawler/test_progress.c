/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "crawler/progress.h"
#include "tests/suite.h"

static struct progress progress;

static void report(int64_t ms, unsigned files, unsigned long bytes, const char *complete)
{
	g_autofree char *text = g_strdup_printf(
		"[volume]\nstate=migrating\n"
		"[counters]\nfiles-found=1000\nfiles-whole=%u\nbytes-found=1000000\n"
		"bytes-whole=%lu\nerrors=3\n"
		"[now]\nclients-wait=true\nsource-away-seconds=0\npaused=false\n"
		"[namespace]\ncomplete=%s\n",
		files, bytes, complete);

	ck_assert(progress_report(&progress, text, ms));
}

static void setup(void)
{
	memset(&progress, 0, sizeof(progress));
}

START_TEST(takes_up)
{
	report(0, 5, 6, "true");
	ck_assert_str_eq(progress.state, "migrating");
	ck_assert(progress.names_complete && !progress.paused);
	ck_assert_uint_eq(progress.files_whole, 5);
	ck_assert_uint_eq(progress.bytes_found, 1000000);
	ck_assert_uint_eq(progress.errors, 3);
	ck_assert(progress.clients_wait);
	ck_assert(!progress_report(&progress, "nonsense", 0));
	ck_assert(!progress_report(&progress, "", 0));
}
END_TEST

START_TEST(no_time_while_names_are_found)
{
	report(0, 0, 0, "false");
	report(1000, 100, 100000, "false");
	ck_assert_int_eq(progress_remaining(&progress), -1);
	g_autofree char *line = progress_line(&progress);
	ck_assert_ptr_nonnull(strstr(line, "still finding names"));
	ck_assert_ptr_null(strstr(line, "left"));
}
END_TEST

START_TEST(the_slower_of_files_and_bytes_counts)
{
	report(0, 0, 0, "true");
	ck_assert_int_eq(progress_remaining(&progress), -1);
	report(10000, 100, 500000, "true");
	ck_assert_int_eq(progress_remaining(&progress), 90);
	report(20000, 900, 600000, "true");
	ck_assert_int_eq(progress_remaining(&progress), 13);
	g_autofree char *line = progress_line(&progress);
	ck_assert_ptr_nonnull(strstr(line, "files 900/1000"));
	ck_assert_ptr_nonnull(strstr(line, "0:00:13 left"));
	ck_assert_ptr_nonnull(strstr(line, "3 errors"));
}
END_TEST

START_TEST(rates_are_of_late)
{
	int64_t ms = 0;

	report(ms, 0, 0, "true");
	/* A fast beginning is forgotten after PROGRESS_SAMPLES reports. */
	report(ms += 1000, 500, 500000, "true");
	for (unsigned i = 1; i <= PROGRESS_SAMPLES; i++)
		report(ms += 1000, 500 + i, 500000 + 1000 * i, "true");
	ck_assert_int_eq(progress_remaining(&progress), 500 - PROGRESS_SAMPLES);
}
END_TEST

START_TEST(nothing_moves)
{
	report(0, 10, 10, "true");
	report(5000, 10, 10, "true");
	ck_assert_int_eq(progress_remaining(&progress), -1);
	report(6000, 1000, 1000000, "true");
	ck_assert_int_eq(progress_remaining(&progress), 0);
	/* Put right by a verifying walk. */
	report(7000, 9, 9, "true");
	ck_assert_int_eq(progress_remaining(&progress), -1);
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
	tcase_add_test(tcase, no_time_while_names_are_found);
	tcase_add_test(tcase, the_slower_of_files_and_bytes_counts);
	tcase_add_test(tcase, rates_are_of_late);
	tcase_add_test(tcase, nothing_moves);
	tcase_add_test(tcase, settings);
	return run_tcase(tcase);
}
