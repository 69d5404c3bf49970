/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/calendar.h"
#include "tests/suite.h"

/* Of local time, in the zone that the case has set. */
static time_t at(int year, int month, int day, int hour, int minute)
{
	struct tm tm = {.tm_year = year - 1900,
			.tm_mon = month - 1,
			.tm_mday = day,
			.tm_hour = hour,
			.tm_min = minute,
			.tm_isdst = -1};

	return mktime(&tm);
}

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

static struct calendar *good(const char *text)
{
	g_autoptr(GError) error = NULL;
	struct calendar *calendar = calendar_parse(text, &error);

	ck_assert_msg(calendar != NULL, "%s", error ? error->message : "");
	return calendar;
}

static void rule_is(const struct calendar *calendar, time_t when, const char *text)
{
	const struct calendar_rule *rule = calendar_at(calendar, when);

	ck_assert_str_eq(rule ? rule->text : "none", text);
}

START_TEST(values)
{
	struct calendar *calendar =
		good(" mon..fri,Sun   08:00-18:00\t10M 200/s ;; Sat 00:00-24:00 0 0/s;22:00-06:00 "
		     "pause;");
	const struct calendar_rule *rule;

	zone("UTC");
	rule = calendar_at(calendar, at(2026, 11, 25, 8, 0)); /* a Wednesday */
	ck_assert_str_eq(rule->text, "mon..fri,Sun 08:00-18:00 10M 200/s");
	ck_assert(rule->has_bandwidth && rule->has_requests && !rule->pause);
	ck_assert_uint_eq(rule->bandwidth, 10 << 20);
	ck_assert_uint_eq(rule->requests, 200);
	rule = calendar_at(calendar, at(2026, 11, 28, 23, 59));
	ck_assert(rule->has_bandwidth && rule->has_requests && !rule->bandwidth && !rule->requests);
	rule = calendar_at(calendar, at(2026, 11, 25, 23, 0));
	ck_assert(rule->pause && !rule->has_bandwidth && !rule->has_requests);
	ck_assert_ptr_null(calendar_at(NULL, 0));
	calendar_free(calendar);
}
END_TEST

START_TEST(times)
{
	struct calendar *calendar = good("Fri-Mon 22:00-06:30 1M; Tue 12:00-12:01 2M");

	zone("UTC");
	rule_is(calendar, at(2026, 11, 26, 23, 0), "none"); /* Thursday */
	rule_is(calendar, at(2026, 11, 27, 6, 0), "none");  /* Friday's night is yet to come */
	rule_is(calendar, at(2026, 11, 27, 22, 0), "Fri-Mon 22:00-06:30 1M");
	rule_is(calendar, at(2026, 11, 28, 6, 29), "Fri-Mon 22:00-06:30 1M");
	rule_is(calendar, at(2026, 11, 28, 6, 30), "none");
	rule_is(calendar, at(2026, 12, 1, 6, 29), "Fri-Mon 22:00-06:30 1M"); /* Tuesday */
	rule_is(calendar, at(2026, 12, 1, 12, 0) + 59, "Tue 12:00-12:01 2M");
	rule_is(calendar, at(2026, 12, 1, 12, 1), "none");
	rule_is(calendar, at(2026, 12, 1, 22, 0), "none");

	ck_assert_int_eq(calendar_until(calendar, at(2026, 11, 26, 23, 0) + 7),
			 at(2026, 11, 27, 22, 0));
	ck_assert_int_eq(calendar_until(calendar, at(2026, 12, 1, 6, 29) + 59),
			 at(2026, 12, 1, 6, 30));
	ck_assert_int_eq(calendar_until(calendar, at(2026, 12, 1, 12, 1)), at(2026, 12, 4, 22, 0));
	calendar_free(calendar);
	calendar = good("00:00-24:00 1M");
	ck_assert_int_eq(calendar_until(calendar, at(2026, 12, 1, 12, 1)), 0);
	ck_assert_int_eq(calendar_until(NULL, at(2026, 12, 1, 12, 1)), 0);
	calendar_free(calendar);
}
END_TEST

/* In Berlin 02:00-03:00 was left out on 29 March 2026, and came twice on 25 October. */
START_TEST(the_clock_is_changed)
{
	struct calendar *calendar = good("02:30-04:00 1M");
	time_t spring, autumn;

	zone("CET-1CEST,M3.5.0,M10.5.0/3");
	spring = at(2026, 3, 29, 1, 59);
	rule_is(calendar, spring, "none");
	rule_is(calendar, spring + 60, "02:30-04:00 1M"); /* it is 03:00 */
	ck_assert_int_eq(calendar_until(calendar, spring), spring + 60);
	ck_assert_int_eq(calendar_until(calendar, spring + 60), spring + 61 * 60);

	autumn = at(2026, 10, 25, 1, 59) + 31 * 60; /* 02:30 for the first time */
	rule_is(calendar, autumn - 1, "none");
	rule_is(calendar, autumn, "02:30-04:00 1M");
	ck_assert_int_eq(calendar_until(calendar, autumn), autumn + 30 * 60); /* 02:00 again */
	rule_is(calendar, autumn + 30 * 60, "none");
	rule_is(calendar, autumn + 60 * 60, "02:30-04:00 1M");
	ck_assert_int_eq(calendar_until(calendar, autumn + 60 * 60), at(2026, 10, 25, 4, 0));
	calendar_free(calendar);
}
END_TEST

START_TEST(mistakes)
{
	static const char *const bad[][2] = {
		{"", "no rule"},
		{" ; ", "no rule"},
		{"Mun 08:00-18:00 1M", "\"Mun\": no days"},
		{"Mon- 08:00-18:00 1M", "\"Mon-\": no days"},
		{"Mon, 08:00-18:00 1M", "\"Mon,\": no days"},
		{"Monday 08:00-18:00 1M", "\"Monday\": no days"},
		{"8:00-18:00 1M", "\"8:00-18:00\": no times"},
		{"08:00-25:00 1M", "no times"},
		{"08:60-18:00 1M", "no times"},
		{"08:00-08:00 1M", "no times"},
		{"24:00-08:00 1M", "no times"},
		{"08:00-18:00x 1M", "no times"},
		{"Mon", "no times"},
		{"08:00-18:00", "there is no limit"},
		{"08:00-18:00 fast", "\"fast\": no limit"},
		{"08:00-18:00 1M 2M", "\"2M\": no limit"},
		{"08:00-18:00 1/s 2/s", "\"2/s\": no limit"},
		{"08:00-18:00 -1/s", "no limit"},
		{"08:00-18:00 9999999/s", "no limit"},
		{"08:00-18:00 1M; x", "\"x\": no days"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!calendar_parse(bad[i][0], &error), "%s", bad[i][0]);
		ck_assert_msg(strstr(error->message, bad[i][1]) != NULL, "%s: %s", bad[i][0],
			      error->message);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("calendar");

	tcase_add_test(tcase, values);
	tcase_add_test(tcase, times);
	tcase_add_test(tcase, the_clock_is_changed);
	tcase_add_test(tcase, mistakes);
	return run_tcase(tcase);
}
