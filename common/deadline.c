/* SPDX-License-Identifier: LGPL-3.0-or-later */

#include "common/migrate.h"

struct timespec migrate_in_ms(unsigned ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

bool migrate_passed(const struct timespec *at)
{
	struct timespec now;

	if (!at)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec != at->tv_sec ? now.tv_sec > at->tv_sec : now.tv_nsec >= at->tv_nsec;
}
