/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/limits.h"

#include "lib/config/calendar.h"

#define YEAR (365 * 86400.0)

/* The part of a rate that a limit leaves. */
static double part_left(double limit, double rate)
{
	return limit > 0 && limit < rate ? limit / rate : 1;
}

static time_t sooner_of(time_t a, time_t b)
{
	return !a ? b : !b ? a : MIN(a, b);
}

/* The part of the full rate, 0 to 1, at that time; *until: when that part changes, or 0. */
static double speed_at(const struct limits *limited, time_t when, time_t *until)
{
	const struct volume_config *config = limited->config;
	const struct server_config *server = &config->server;
	const struct calendar_rule *own = calendar_at(config->limits, when);
	const struct calendar_rule *common = calendar_at(server->limits, when);
	const double part = 1.0 / MAX(limited->sharers, 1);
	double speed = 1;

	*until = sooner_of(config->limits ? calendar_until(config->limits, when) : 0,
			   server->limits ? calendar_until(server->limits, when) : 0);
	if ((own && own->pause) || (common && common->pause))
		return 0;
	if (!limited->ordered)
		speed = part_left(
			(double)(own && own->has_bandwidth ? own->bandwidth : config->bandwidth),
			limited->bandwidth);
	speed = MIN(speed, part_left(own && own->has_requests ? own->requests : config->requests,
				     limited->requests));
	speed = MIN(speed,
		    part_left(part * (double)(common && common->has_bandwidth ? common->bandwidth
									      : server->bandwidth),
			      limited->bandwidth));
	return MIN(speed, part_left(part * (common && common->has_requests ? common->requests
									   : server->requests),
				    limited->requests));
}

double limits_finish_time(const struct limits *limited, double seconds, time_t now)
{
	double left = seconds, at = (double)now;

	while (left > 0) {
		time_t until = 0;
		double part = speed_at(limited, (time_t)at, &until), span = (double)until - at;

		if (!until || span <= 0) /* from here on it stays so */
			return part > 0 && left / part < YEAR ? at + left / part - (double)now : -1;
		if (part * span >= left)
			return at + left / part - (double)now;
		left -= part * span;
		at = (double)until;
		if (at - (double)now > YEAR)
			return -1;
	}
	return 0;
}
