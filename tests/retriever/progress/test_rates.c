/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core.h"
#include "tests/durable.h"

#include <sys/statvfs.h>

#include "lib/config/calendar.h"
#include "lib/report/losses.h"
#include "lib/source/gate.h"
#include "retriever/objects/errors.h"
#include "retriever/progress/limits_set.h"
#include "retriever/progress/rates.h"

static struct core core;

static struct statvfs room = {.f_frsize = 4096, .f_bfree = 1 << 20};

/* Instead of the C library's. */
int fstatvfs(int fd, struct statvfs *st)
{
	*st = room;
	return 0;
}

static void says(const char *expected)
{
	struct estimate_time told = rates_rest(core.retriever->rates);
	g_autofree char *text = rates_rest_text(core.retriever->rates, &told);

	ck_assert_str_eq(text, expected);
}

/* The rates count from the first sample, which is taken when the volume is opened. */
START_TEST(follow_the_counters)
{
	gint64 start, us;
	int64_t files, bytes;

	start = g_get_monotonic_time();
	core_make(&core);
	core_open(&core);
	COUNT_ADD(core.retriever, files_whole, 3000);
	COUNT_ADD(core.retriever, bytes_fetched, 5000000);
	files = rates_files(core.retriever->rates);
	bytes = rates_bytes(core.retriever->rates);
	us = g_get_monotonic_time() - start + G_USEC_PER_SEC; /* since before the first sample */
	ck_assert_int_ge(files, (int64_t)3000 * G_USEC_PER_SEC / us);
	ck_assert_int_ge(bytes, (int64_t)5000000 * G_USEC_PER_SEC / us);
	core_free(&core);
}
END_TEST

START_TEST(nothing_moves)
{
	core_make(&core);
	core_open(&core);
	ck_assert_int_eq(rates_files(core.retriever->rates), 0);
	ck_assert_int_eq(rates_bytes(core.retriever->rates), 0);
	core_free(&core);
}
END_TEST

START_TEST(less_than_before)
{
	core_make(&core);
	core_open(&core);
	COUNT_ADD(core.retriever, files_whole, -3000);
	COUNT_ADD(core.retriever, bytes_fetched, -5000000);
	ck_assert_int_eq(rates_files(core.retriever->rates), 0);
	ck_assert_int_eq(rates_bytes(core.retriever->rates), 0);
	core_free(&core);
}
END_TEST

/* Nothing can be told of names that are not known, nor at once. */
START_TEST(what_is_left)
{
	core_make(&core);
	core_open(&core);
	says("no crawler runs: systemctl start migrate-crawler@test");
	COUNT_SET(core.retriever, crawlers, 1);
	says("names are still being found");
	COUNT_SET(core.retriever, exact, 1);
	COUNT_SET(core.retriever, unfilled, 0);
	says("finished");
	ck_assert_int_eq(rates_rest(core.retriever->rates).seconds, 0);
	COUNT_ADD(core.retriever, files_found, 10);
	COUNT_ADD(core.retriever, bytes_found, 1 << 30);
	says("measuring");
	core_free(&core);
}
END_TEST

/* What keeps it is said in place of a time that was measured before, with what to do. */
START_TEST(what_keeps_it)
{
	core_make(&core);
	core_open(&core);
	COUNT_SET(core.retriever, exact, 1);
	COUNT_SET(core.retriever, unfilled, 0);
	COUNT_SET(core.retriever, files_found, 10);
	COUNT_SET(core.retriever, bytes_found, 1 << 30);
	says("no crawler runs: systemctl start migrate-crawler@test");
	COUNT_SET(core.retriever, crawlers, 1);
	limits_set_pause(core.retriever, true);
	says("paused: migratectl resume test");
	limits_set_pause(core.retriever, false);
	/* a pause that ends by itself is in the time */
	struct volume_config *config = (struct volume_config *)core.retriever->config;
	config->limits = calendar_parse("00:00-24:00 pause", NULL);
	limits_set_tick(core.retriever);
	ck_assert(gate_paused(core.retriever->gate));
	says("measuring");
	room.f_bfree = 10;
	says("no space on the new server");
	COUNT_SET(core.retriever, bytes_whole, (1 << 30) - 40960); /* there is as much */
	says("measuring");
	COUNT_SET(core.retriever, crawlers, 0);
	errors_add_name(core.retriever->errors, core.retriever->root_fd, "name", -EIO,
			QM_LIST_FAILED, NULL);
	COUNT_SET(core.retriever, files_found, 1);
	says("what failed is left: migratectl errors test");
	core_free(&core);
}
END_TEST

/* Bytes within a file are here before it is whole. */
START_TEST(within_a_file)
{
	struct estimate_time told = {.seconds = 11160, .low = 9600, .high = 187200};

	core_make(&core);
	core_open(&core);
	g_autofree char *text = rates_rest_text(core.retriever->rates, &told);
	ck_assert_str_eq(text, "about 3 h 6 min (2 h 40 min to 2 d 4 h)");
	COUNT_SET(core.retriever, exact, 1);
	COUNT_SET(core.retriever, unfilled, 0);
	COUNT_SET(core.retriever, crawlers, 1);
	COUNT_SET(core.retriever, bytes_found, 1000);
	COUNT_SET(core.retriever, bytes_partial, 1000);
	says("finished");
	core_free(&core);
}
END_TEST

/* They are saved each second, whether anything else makes them durable or not. */
START_TEST(losses_become_durable)
{
	core_make(&core);
	core_start(&core);
	ck_assert_int_eq(losses_add(core.retriever->losses, LOSS_ACL, "/a", "why"), 0);
	while (!is_durable_in(core.retriever->private_fd, LOSSES_FILE))
		g_usleep(10000);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("rates", 30);

	tcase_add_test(tcase, follow_the_counters);
	tcase_add_test(tcase, nothing_moves);
	tcase_add_test(tcase, losses_become_durable);
	tcase_add_test(tcase, less_than_before);
	tcase_add_test(tcase, what_is_left);
	tcase_add_test(tcase, what_keeps_it);
	tcase_add_test(tcase, within_a_file);
	return run_tcase(tcase);
}
