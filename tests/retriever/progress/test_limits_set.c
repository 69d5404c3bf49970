/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/retriever/core_hook.h"

#include "lib/config/calendar.h"
#include "lib/source/gate.h"
#include "retriever/progress/limits_set.h"

static struct core core;

static char *file(void)
{
	return g_strconcat(core.retriever->config->root, "/" MIGRATE_PRIVATE_DIR "/orders", NULL);
}

/* The core of tests puts another gate behind what was opened. */
static void again(void)
{
	struct limits_set orders;

	core_close(&core);
	core_open(&core);
	orders = limits_set_get(core.retriever);
	limits_set_follow(core.retriever, &orders);
}

static void check(bool throttled, uint64_t bandwidth, bool paused)
{
	ck_assert_int_eq(limits_set_get(core.retriever).throttled, throttled);
	ck_assert_uint_eq(gate_bandwidth(core.retriever->gate), bandwidth);
	ck_assert_int_eq(gate_paused(core.retriever->gate), paused);
}

START_TEST(they_are_kept)
{
	core_make(&core);
	core_open(&core);
	core_attach(&core);
	check(false, 0, false);
	limits_set_throttle(core.retriever, 12345);
	limits_set_pause(core.retriever, true);
	check(true, 12345, true);
	ck_assert_int_eq(limits_set_save(core.retriever), 0);
	again();
	check(true, 12345, true);
	limits_set_throttle(core.retriever, 0); /* no limit is an order, too */
	limits_set_pause(core.retriever, false);
	again();
	check(true, 0, false);
	limits_set_unthrottle(core.retriever);
	ck_assert_int_eq(limits_set_save(core.retriever), 0);
	g_autofree char *path = file();
	ck_assert_int_eq(access(path, F_OK), -1);
	again();
	check(false, 0, false);
	core_free(&core);
}
END_TEST

/* Given before there is a .migrate/, they are written down when there is one. */
START_TEST(before_a_volume_is_attached)
{
	core_make(&core);
	core_open(&core);
	limits_set_pause(core.retriever, true);
	ck_assert_int_eq(limits_set_save(core.retriever), 0);
	core_attach(&core);
	ck_assert_int_eq(limits_set_save(core.retriever), 0);
	again();
	check(false, 0, true);
	core_free(&core);
}
END_TEST

/* ... and until then outlive a new start in the same process. */
START_TEST(a_new_start)
{
	struct limits_set orders;

	core_make(&core);
	core_open(&core);
	limits_set_throttle(core.retriever, 12345);
	limits_set_pause(core.retriever, true);
	for (unsigned starts = 0; starts < 2; starts++) {
		orders = limits_set_get(core.retriever);
		again();
		check(false, 0, false);
		limits_set_follow(core.retriever, &orders);
		check(true, 12345, true);
	}
	core_free(&core);
}
END_TEST

START_TEST(damaged)
{
	static const char *const texts[] = {"nonsense", "", "[orders]\nthrottle=-5\npaused=true\n",
					    "[orders]\nthrottle=99999999999999999999\n"};

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	g_autofree char *path = file();
	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		core_close(&core);
		ck_assert(g_file_set_contents(path, texts[i], -1, NULL));
		core_open(&core);
		check(false, 0, false);
		limits_set_throttle(core.retriever, i + 1);
		again();
		check(true, i + 1, false);
	}
	core_free(&core);
}
END_TEST

/* Orders count more than the calendar, and that more than the rest of the configuration. */
START_TEST(by_the_calendar)
{
	struct calendar *before;
	struct volume_config *config;
	time_t until;

	core_make(&core);
	core_open(&core);
	core_attach(&core);
	config = core.retriever->config;
	config->bandwidth = 1000;
	config->requests = 100;
	config->limits = calendar_parse("00:00-24:00 2000", NULL);
	limits_set_tick(core.retriever);
	check(false, 2000, false);
	ck_assert_uint_eq(gate_requests(core.retriever->gate), 100);
	ck_assert_str_eq(limits_set_rule(core.retriever, &until)->text, "00:00-24:00 2000");
	ck_assert_int_eq(until, 0);
	limits_set_throttle(core.retriever, 5);
	check(true, 5, false);
	limits_set_unthrottle(core.retriever);
	check(false, 2000, false);

	before = config->limits;
	config->limits = calendar_parse("00:00-24:00 pause 7/s", NULL);
	limits_set_tick(core.retriever);
	check(false, 1000, true);
	ck_assert_uint_eq(gate_requests(core.retriever->gate), 7);
	limits_set_pause(core.retriever, false);
	check(false, 1000, true);
	ck_assert(!limits_set_get(core.retriever).paused);
	calendar_free(before);
	core_free(&core);
}
END_TEST

int main(void)
{
	TCase *tcase = core_tcase("orders", 60);

	tcase_add_test(tcase, they_are_kept);
	tcase_add_test(tcase, before_a_volume_is_attached);
	tcase_add_test(tcase, a_new_start);
	tcase_add_test(tcase, damaged);
	tcase_add_test(tcase, by_the_calendar);
	return run_tcase(tcase);
}
