/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/latch.h"

void latch_init(struct latch *latch, guint n)
{
	g_mutex_init(&latch->lock);
	g_cond_init(&latch->cond);
	latch->left = n;
	latch->status = 0;
}

void latch_count_down(void *arg, int status)
{
	struct latch *latch = arg;

	g_mutex_lock(&latch->lock);
	latch->status = status;
	if (--latch->left == 0)
		g_cond_signal(&latch->cond);
	g_mutex_unlock(&latch->lock);
}

int latch_wait(struct latch *latch)
{
	g_mutex_lock(&latch->lock);
	while (latch->left)
		g_cond_wait(&latch->cond, &latch->lock);
	g_mutex_unlock(&latch->lock);
	g_cond_clear(&latch->cond);
	g_mutex_clear(&latch->lock);
	return latch->status;
}
