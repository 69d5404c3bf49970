/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "thread.h"

#include <sched.h>

void thread_background(bool background)
{
	static _Thread_local int current = -1;
	const struct sched_param param = {0};
	int wanted = background ? SCHED_BATCH : SCHED_OTHER;

	if (current < 0)
		current = sched_getscheduler(0);
	if (current == wanted || (current != SCHED_OTHER && current != SCHED_BATCH))
		return;
	if (sched_setscheduler(0, wanted, &param) == 0)
		current = wanted;
}
