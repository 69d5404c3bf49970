/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that a thread waits for in place: that of a call which ends elsewhere. */
#ifndef LIB_BASE_LATCH_H
#define LIB_BASE_LATCH_H

#include <glib.h>

struct latch {
	GMutex lock; /* a leaf */
	GCond cond;
	guint left;
	int status;
};

void latch_init(struct latch *latch, guint n);
/* One more has come.  Also an object_done_fn. */
void latch_count_down(void *latch, int status);
/* Waits until all n have come: the status of the last one.  Clears the latch. */
int latch_wait(struct latch *latch);

#endif
