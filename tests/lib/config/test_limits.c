/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <stdlib.h>

#include "lib/config/calendar.h"
#include "lib/config/limits.h"
#include "tests/suite.h"

static struct volume_config config;

static void begin(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	config = (struct volume_config){0};
}

static void end(void)
{
	calendar_free(config.limits);
	calendar_free(config.server.limits);
}

/* Work of so many seconds, with 1000 bytes and 10 requests a second if nothing limits it. */
static void takes(double seconds, time_t now, double wanted)
{
	const struct limits limited = {.config = &config, .bandwidth = 1000, .requests = 10};

	ck_assert_double_eq_tol(limits_finish_time(&limited, seconds, now), wanted, 0.001);
}

static struct calendar *calendar(const char *text)
{
	struct calendar *parsed = calendar_parse(text, NULL);

	ck_assert_ptr_nonnull(parsed);
	return parsed;
}

/* Half the rate for the first hour, nothing in the second. */
START_TEST(by_the_clock)
{
	config.limits = calendar("00:00-01:00 500; 01:00-02:00 pause");
	takes(0, 0, 0);
	takes(1800, 0, 3600);
	takes(1801, 0, 7201);
	takes(100, 5400, 1900);
	calendar_free(config.limits);
	config.limits = calendar("00:00-24:00 pause");
	takes(1, 0, -1);
	takes(0, 0, 0);
}
END_TEST

START_TEST(of_requests)
{
	config.limits = calendar("00:00-01:00 5/s; 01:00-02:00 0/s");
	config.requests = 2;
	takes(1801, 0, 3601);
	takes(100, 7200, 500);
}
END_TEST

/* Both hold, and the calendar of either. */
START_TEST(of_the_server)
{
	struct limits limited = {.config = &config, .bandwidth = 1000, .requests = 10};

	config.bandwidth = 500;
	config.server.bandwidth = 250;
	takes(100, 0, 400);
	config.server.limits = calendar("00:00-01:00 pause; 01:00-02:00 1000 1/s");
	takes(100, 0, 4600);
	config.limits = calendar("00:00-02:00 pause");
	takes(100, 0, 7600);
	config.server.requests = 5; /* each has half of it */
	limited.sharers = 2;
	ck_assert_double_eq_tol(limits_finish_time(&limited, 100, 8000), 800, 0.001);
	limited.sharers = 1;
	limited.ordered = true;
	ck_assert_double_eq_tol(limits_finish_time(&limited, 100, 8000), 400, 0.001);
	config.server.bandwidth = 0;
	ck_assert_double_eq_tol(limits_finish_time(&limited, 100, 8000), 200, 0.001);
}
END_TEST

/* What is not known is not limited. */
START_TEST(unknown)
{
	const struct limits limited = {.config = &config};

	config.bandwidth = config.requests = 1;
	ck_assert_double_eq_tol(limits_finish_time(&limited, 100, 0), 100, 0.001);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, by_the_clock);
	tcase_add_test(tcase, of_requests);
	tcase_add_test(tcase, of_the_server);
	tcase_add_test(tcase, unknown);
	return run_tcase(tcase);
}
