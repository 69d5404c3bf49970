/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "retriever/objects/answers.h"

void answers_init(struct answers *answers, guint n)
{
	g_mutex_init(&answers->lock);
	g_cond_init(&answers->cond);
	answers->left = n;
	answers->status = 0;
}

void answers_take(void *arg, int status)
{
	struct answers *answers = arg;

	g_mutex_lock(&answers->lock);
	answers->status = status;
	if (--answers->left == 0)
		g_cond_signal(&answers->cond);
	g_mutex_unlock(&answers->lock);
}

int answers_wait(struct answers *answers)
{
	g_mutex_lock(&answers->lock);
	while (answers->left)
		g_cond_wait(&answers->cond, &answers->lock);
	g_mutex_unlock(&answers->lock);
	g_cond_clear(&answers->cond);
	g_mutex_clear(&answers->lock);
	return answers->status;
}
