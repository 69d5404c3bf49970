/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses what the retriever says about the volume, and makes the line of progress. */
#ifndef CRAWLER_PROGRESS_H
#define CRAWLER_PROGRESS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	char state[16]; /* "" before the first report */
	bool names_complete, paused, clients_wait;
	uint64_t files_found, files_whole, bytes_found, bytes_whole;
	uint64_t errors, away_seconds, bytes_per_second;
	double files_per_second;
	char rest[128]; /* what the retriever says of the time that is left */
};

/* Takes the text of a "status" reply.  FALSE: the text makes no sense. */
bool progress_report(struct progress *progress, const char *text);

/* One line, without a newline, that says how much is done; g_free. */
char *progress_line(const struct progress *progress);

struct progress_settings {
	char *root; /* g_free */
	char *order;
	unsigned workers;
};
bool progress_settings(struct progress_settings *settings, const char *text);
void progress_settings_clear(struct progress_settings *settings);

#endif
