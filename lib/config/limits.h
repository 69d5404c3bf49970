/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long work takes under the limits and calendars of a volume and of its old server. */
#ifndef LIB_CONFIG_LIMITS_H
#define LIB_CONFIG_LIMITS_H

#include <time.h>

#include "lib/config/volume_config.h"

struct limits {
	const struct volume_config *config;
	double bandwidth, requests; /* rates a second without any limit; 0: not known */
	bool ordered; /* the volume's own bandwidth was set by a command, and is not the configured
			 one */
	unsigned sharers; /* volumes that share the old server's cap now, this one included; 0: 1 */
};

/* How many seconds from now on work takes that begins at `now` and would take `seconds` at the full
 * rate; -1: more than a year.  Any thread. */
double limits_finish_time(const struct limits *limited, double seconds, time_t now);

#endif
