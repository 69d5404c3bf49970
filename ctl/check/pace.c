/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ctl/check/pace.h"

#define BURST_US (G_USEC_PER_SEC / 50) /* what was not used before counts so long */

void pace_init(struct pace *pace, uint64_t rate)
{
	*pace = (struct pace){.rate = rate};
	g_mutex_init(&pace->lock);
	g_cond_init(&pace->stopped);
}

void pace_clear(struct pace *pace)
{
	g_mutex_clear(&pace->lock);
	g_cond_clear(&pace->stopped);
}

/* Lock held.  When it may go. */
static gint64 take_turn(struct pace *pace)
{
	const gint64 now = g_get_monotonic_time();
	gint64 turn;

	pace->count++;
	if (!pace->rate)
		return now;
	turn = MAX(pace->next, now - BURST_US);
	pace->next = turn + MAX(G_USEC_PER_SEC / (gint64)pace->rate, 1);
	return turn;
}

bool pace_wait(struct pace *pace)
{
	gint64 turn;
	bool go;

	g_mutex_lock(&pace->lock);
	turn = take_turn(pace);
	while (!pace->stop && turn > g_get_monotonic_time())
		g_cond_wait_until(&pace->stopped, &pace->lock, turn);
	go = !pace->stop;
	g_mutex_unlock(&pace->lock);
	return go;
}

void pace_count(struct pace *pace)
{
	g_mutex_lock(&pace->lock);
	take_turn(pace);
	g_mutex_unlock(&pace->lock);
}

void pace_stop(struct pace *pace)
{
	g_mutex_lock(&pace->lock);
	pace->stop = true;
	g_cond_broadcast(&pace->stopped);
	g_mutex_unlock(&pace->lock);
}

uint64_t pace_requests(struct pace *pace)
{
	uint64_t count;

	g_mutex_lock(&pace->lock);
	count = pace->count;
	g_mutex_unlock(&pace->lock);
	return count;
}
