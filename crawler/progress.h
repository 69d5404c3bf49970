/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the retriever says about the volume, and the line that is made of it. */
#ifndef CRAWLER_PROGRESS_H
#define CRAWLER_PROGRESS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The rate is taken over this many reports (one a second). */
#define PROGRESS_SAMPLES 30

struct progress_sample {
	int64_t ms;
	uint64_t files, bytes;
};

struct progress {
	char state[16]; /* "" before the first report */
	bool names_complete, paused, clients_wait;
	uint64_t files_found, files_whole, bytes_found, bytes_whole;
	uint64_t errors, away_seconds;
	struct progress_sample samples[PROGRESS_SAMPLES]; /* a ring */
	unsigned count;
};

/* Takes up the text of a "status" reply that came at now_ms.  FALSE: it makes no sense. */
bool progress_report(struct progress *progress, const char *text, int64_t now_ms);

/* Seconds until all is whole, or -1: not known, because not all directories are filled, so that
 * there may be more than is known of, or because nothing moves. */
int64_t progress_remaining(const struct progress *progress);

/* One line without its end, of what is done; g_free. */
char *progress_line(const struct progress *progress);

struct progress_settings {
	char *root; /* g_free */
	char *order;
	unsigned workers;
};
bool progress_settings(struct progress_settings *settings, const char *text);
void progress_settings_clear(struct progress_settings *settings);

#endif
