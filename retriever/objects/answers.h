/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that somebody waits for in place, on a thread that may. */
#ifndef RETRIEVER_OBJECTS_ANSWERS_H
#define RETRIEVER_OBJECTS_ANSWERS_H

#include <glib.h>

struct answers {
	GMutex lock; /* a leaf */
	GCond cond;
	guint left;
	int status;
};

void answers_init(struct answers *answers, guint n);
/* An object_done_fn: one more has come. */
void answers_take(void *answers, int status);
/* All have: the status of the last one.  Clears them. */
int answers_wait(struct answers *answers);

#endif
