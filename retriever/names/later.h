/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tries again, in the background, the objects and names that are in the list of errors because the
 * old server put them off (QM_LATER).  A round goes through the whole list, LATER_AT_A_TIME
 * entries at a time.  The pause between rounds is a minute, then twice as long each time, up to an
 * hour, until something has come.  In a copy nothing is tried again here: the copy's next run does
 * that.
 */
#ifndef RETRIEVER_NAMES_LATER_H
#define RETRIEVER_NAMES_LATER_H

#include "retriever/objects/retriever.h"

#define LATER_AT_A_TIME 32
#define LATER_MIN	((gint64)60 * G_TIME_SPAN_SECOND)
#define LATER_MAX	((gint64)3600 * G_TIME_SPAN_SECOND)

struct later;

/* first_pause: LATER_MIN, in microseconds. */
struct later *later_new(struct retriever *retriever, gint64 first_pause);
/* Starts no more attempts, ever; those under way may still end.  Called while the main loop does
 * not run.  NULL is fine. */
void later_stop(struct later *later);
/* After all jobs.  NULL is fine. */
void later_free(struct later *later);

#endif
