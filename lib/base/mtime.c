/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/mtime.h"

#include "common/record.h"

/* What has 64 bits of ns is within that of all others: ext4 has 34 bits of seconds, or 32. */
bool mtime_is_nearest(struct timespec here, int64_t there)
{
	const int64_t is = migrate_ns(here);

	return !here.tv_nsec && ((here.tv_sec == INT32_MAX && there > is) ||
				 (here.tv_sec == INT32_MIN && there < is));
}

bool mtime_is(struct timespec here, int64_t there)
{
	struct timespec t = migrate_timespec(there);
	long unit = here.tv_nsec == 0		  ? 1000000000
		    : here.tv_nsec % 1000000 == 0 ? 1000000
		    : here.tv_nsec % 1000 == 0	  ? 1000
		    : here.tv_nsec % 100 == 0	  ? 100
						  : 1;

	return (here.tv_sec == t.tv_sec && here.tv_nsec == t.tv_nsec - t.tv_nsec % unit) ||
	       mtime_is_nearest(here, there);
}
