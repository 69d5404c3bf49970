/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_BASE_MTIME_H
#define LIB_BASE_MTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Whether a copy's mtime may be the listed one: tools keep seconds, milliseconds,
 * microseconds or 100 ns, and file systems the nearest that they can. */
bool mtime_is(struct timespec here, int64_t there);
/* The last part: here is the first or the last second that some file systems keep, and there is
 * beyond it. */
bool mtime_is_nearest(struct timespec here, int64_t there);

#endif
