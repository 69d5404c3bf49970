/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A weekly calendar of limits: `limits` of the configuration.  Rules are separated by ';':
 *
 *   [DAYS] FROM-TO LIMIT...
 *
 * DAYS: names of days and ranges of them (Mon-Fri, as in systemd Mon..Fri), separated by commas;
 * without DAYS, every day.  FROM and TO: HH:MM, of local time; 24:00 is the day's end, and a TO
 * that is not behind FROM is on the next day.  LIMIT: bytes a second ("10M"), requests a second
 * ("200/s"), where 0 means no limit; or `pause`.  The first rule that holds at a time counts.
 *
 * The local clock decides: where it is put forward or back, a rule holds for a shorter or longer
 * time.
 */
#ifndef LIB_CONFIG_CALENDAR_H
#define LIB_CONFIG_CALENDAR_H

#include <time.h>

#include "lib/config/parse.h"

struct calendar_rule {
	char *text;
	unsigned days;	   /* 1 << tm_wday */
	unsigned from, to; /* minutes since the midnight before FROM; 0..2880, from < to */
	bool pause, has_bandwidth, has_requests;
	uint64_t bandwidth; /* bytes a second; 0: no limit */
	unsigned requests;  /* a second; 0: no limit */
};

struct calendar;

/* NULL with error set: what is wrong, without where. */
struct calendar *calendar_parse(const char *text, GError **error);
void calendar_free(struct calendar *calendar);
/* Divides each limit by parts.  FALSE: a limit is less than parts, and nothing is changed. */
bool calendar_divide(struct calendar *calendar, unsigned parts);
/* The rule that holds at that time, or NULL; valid as long as the calendar.  calendar: may be
 * NULL. */
const struct calendar_rule *calendar_at(const struct calendar *calendar, time_t when);
/* The first minute after `when` at which another rule holds, or no rule; 0: nothing changes within
 * 8 days. */
time_t calendar_until(const struct calendar *calendar, time_t when);

/* "200": a number of requests a second, 0: no limit. */
#define CALENDAR_REQUESTS_MAX 1000000
bool calendar_parse_requests(const char *text, unsigned *requests);

#endif
