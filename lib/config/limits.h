/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What limits and calendars of a volume, and of its old server, leave of a rate. */
#ifndef LIB_CONFIG_LIMITS_H
#define LIB_CONFIG_LIMITS_H

#include <time.h>

#include "lib/config/volume_config.h"

struct limits {
	const struct volume_config *config;
	double bandwidth, requests; /* a second, if nothing limited them; 0: not known */
	bool ordered;		    /* the volume's own bandwidth is not what is configured */
	unsigned sharers; /* volumes that share the old server's cap now, with this one; 0: 1 */
};

/* When work that begins at `now` and takes so many seconds at the full rate will have been done, in
 * seconds from now; -1: not within a year.  Any thread. */
double limits_finish_time(const struct limits *limited, double seconds, time_t now);

#endif
