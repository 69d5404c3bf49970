/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history of the migration: how much was found and how much was whole, minute by minute, for
 * the final report.  There are at most HISTORY_MAX points: when that number is reached every other
 * point is removed, and from then on points are taken half as often.  .migrate/history keeps the
 * points, a line of numbers for each (lines that make no sense are left out); after the volume's
 * end they are kept beside the report.  Any thread.
 */
#ifndef RETRIEVER_PROGRESS_HISTORY_H
#define RETRIEVER_PROGRESS_HISTORY_H

#include "retriever/objects/retriever.h"

#define HISTORY_FILE	 "history"
#define HISTORY_KEPT	 ".history" /* behind the report's path */
#define HISTORY_MAX	 1000
#define HISTORY_INTERVAL 60 /* s, at first */

struct history_point {
	gint64 time;			     /* s since 1970 */
	gint64 objects_found, objects_whole; /* directories and files */
	gint64 bytes_found, bytes_whole;
};

struct history {
	GMutex lock; /* a leaf */
	GArray *points;
	gint64 interval; /* s */
	bool dirty;	 /* since it was saved */
};

struct history *history_new(void);
void history_free(struct history *history);

/* Adds the point if the interval is over, else does nothing.  If the clock was set back, no points
 * are added until it is where it was. */
void history_add(struct history *history, const struct history_point *point);
/* As in the file.  g_free. */
char *history_text(struct history *history, size_t *len);
/* Takes the points of a text in place of those it has. */
void history_parse(struct history *history, const char *text);

/* ---- of a volume ---- */

/* Once a second, or less often: a point, if it is time for one. */
void history_sample(struct retriever *retriever);
/* From and to .migrate/, where there is one.  Blocks for the disk. */
void history_load(struct retriever *retriever);
void history_save(struct retriever *retriever);
/* All points go: another run begins. */
void history_reset(struct retriever *retriever);
/* For after the volume's end: with a last point, beside the report.  0 or -errno. */
int history_keep(struct retriever *retriever);

#endif
