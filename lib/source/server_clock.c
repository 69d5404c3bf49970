/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/server_clock.h"

#define SECOND	    INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)
#define DAY	    (86400 * SECOND)
/* The longest step of times, and a second for clocks that are set a little, or differ within one
 * server. */
#define STEP  (3 * SECOND)
#define DRIFT 1024 /* two clocks are apart by less than one part in so many */

static bool is_coarse(const struct source_attr *attr)
{
	return attr->ctime % MILLISECOND == 0;
}

static void note_clock(struct server_clock *clock, int64_t now, int64_t ctime, int64_t at)
{
	if (ctime > now) {
		clock->newest = ctime;
		clock->seen = at;
	}
}

/* No later than the server's clock was at that moment, before or after `seen`. */
static int64_t at_least(const struct server_clock *clock, int64_t when)
{
	const int64_t passed = when - clock->seen;

	return clock->newest ? clock->newest + passed - ABS(passed) / DRIFT : INT64_MIN;
}

/* The newest ctime of the answer that can be the server's clock; 0: none. */
static int64_t newest_of(const struct backend_request *req, int64_t here)
{
	const GArray *entries = req->batch ? req->batch->entries : NULL;
	int64_t newest = is_coarse(&req->attr) && req->attr.ctime <= here ? req->attr.ctime : 0;

	for (guint i = 0; entries && i < entries->len; i++) {
		const struct source_attr *attr =
			&g_array_index(entries, struct source_entry, i).attr;

		if (is_coarse(attr) && attr->ctime <= here)
			newest = MAX(newest, attr->ctime);
	}
	return newest;
}

/* Where mtime stands for ctime, one far ahead was set by somebody, and a change has another. */
static void judge(struct source_attr *attr, int64_t then, int64_t here)
{
	attr->unsettled = is_coarse(attr) && attr->ctime > then - STEP &&
			  !(attr->no_ctime && attr->ctime > here + DAY);
}

void server_clock_judge(struct server_clock *clock, struct backend_request *req, gint64 sent,
			gint64 answered)
{
	const int64_t here = g_get_real_time() * 1000, at = answered * 1000;
	const GArray *entries = req->batch ? req->batch->entries : NULL;
	const int64_t newest = newest_of(req, here);
	int64_t then;

	g_mutex_lock(&clock->lock);
	if (newest)
		note_clock(clock, at_least(clock, at), newest, at);
	then = MAX(at_least(clock, sent * 1000), INT64_MIN + STEP);
	g_mutex_unlock(&clock->lock);
	judge(&req->attr, then, here);
	for (guint i = 0; entries && i < entries->len; i++)
		judge(&g_array_index(entries, struct source_entry, i).attr, then, here);
}
