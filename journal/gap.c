/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/gap.h"

#include <string.h>

#include "journal/store/live.h"

#define SECOND INT64_C(1000000000)
/* Longer than one system call takes, whose ctime is at its beginning and whose event at its end. */
#define MARGIN (120 * SECOND)
#define REBOOT (3600 * SECOND)
/* A clock that is steered, and not set, goes wrong by less than this part. */
#define STEERED 1000

static void boot_id(char *out, size_t size)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
		text = g_strdup("?");
	g_strlcpy(out, g_strstrip(text), size);
}

static int64_t less(int64_t time, int64_t by)
{
	return time < by ? 0 : time - by;
}

void gap_clock(struct journal_durable *state, int64_t by)
{
	if (by < 0) {
		state->back -= (uint32_t)MIN((int64_t)state->back, -by / SECOND);
		return;
	}
	state->back = (uint32_t)MIN(state->back + (by + SECOND - 1) / SECOND, UINT32_MAX);
}

void gap_open(struct journal_durable *state, int64_t since, const char *reason)
{
	state->gap = MIN(state->gap, MAX(since, 0));
	state->gaps++;
	g_strlcpy(state->reason, reason, sizeof(state->reason));
}

void gap_start(struct journal_durable *state)
{
	const int64_t now = journal_realtime(), boottime = journal_boottime();
	const int64_t elapsed = boottime - state->boottime;
	int64_t since = state->seen;
	const char *reason = "start";
	char boot[sizeof(state->boot)];

	boot_id(boot, sizeof(boot));
	if (strcmp(boot, state->boot)) {
		since = less(since, REBOOT);
		reason = "reboot";
	} else {
		/* How much less the time of day went on than time did. */
		const int64_t back = elapsed - (now - state->seen);

		if (elapsed < 0 || back > 2 * SECOND + elapsed / STEERED) {
			since = elapsed < 0 ? 0 : less(since, back);
			gap_clock(state, MAX(back, 0));
			reason = "clock";
		}
	}
	if (now < state->seen) {
		since = 0;
		gap_clock(state, state->seen - now);
		reason = "clock";
	}
	gap_open(state, since, reason);
}

void gap_seen(struct journal_durable *state, int64_t seen, int64_t boottime)
{
	state->seen = seen;
	state->boottime = boottime;
	boot_id(state->boot, sizeof(state->boot));
}

int64_t gap_from(const struct journal_durable *state)
{
	return state->gap == INT64_MAX ? INT64_MAX : less(state->gap, MARGIN);
}

void gap_close(struct journal_durable *state, int64_t later)
{
	if (state->gap != INT64_MAX)
		state->filled = journal_realtime();
	state->gap = later;
}

void gap_begin(struct journal_durable *state)
{
	state->since = journal_realtime();
	state->gap = INT64_MAX;
	state->back = 0;
	state->gaps = 0;
	state->filled = 0;
	state->left = 0;
	state->reason[0] = '\0';
}

bool gap_lower(struct journal_durable *state, int64_t by)
{
	if (state->gap == INT64_MAX)
		return false;
	state->gap = less(state->gap, by);
	return true;
}
