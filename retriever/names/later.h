/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is listed because the old server put it off (ERRORS_LATER) is tried again in the background,
 * LATER_AT_A_TIME at a time and the whole list in turn: a minute after its last round, then after
 * twice as long each time, up to an hour, until something has come.  Not in a copy, whose next run
 * tries it.
 */
#ifndef RETRIEVER_NAMES_LATER_H
#define RETRIEVER_NAMES_LATER_H

#include "retriever/objects/retriever.h"

#define LATER_AT_A_TIME 32
#define LATER_MIN	((gint64)60 * G_TIME_SPAN_SECOND)
#define LATER_MAX	((gint64)3600 * G_TIME_SPAN_SECOND)

struct later;

struct later *later_new(struct retriever *retriever);
/* Starts no more, ever; what is under way may still end.  While the loop does not run.  NULL is
 * fine. */
void later_stop(struct later *later);
/* After all jobs.  NULL is fine. */
void later_free(struct later *later);
/* The pause is over.  Any thread. */
void later_hurry(struct later *later);

#endif
