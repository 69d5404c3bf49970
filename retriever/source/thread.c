/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/param.h>
#include <sys/resource.h>

#define LOWER	   10 /* of nice: a ninth of the weight */
#define NICE_MAX   19
#define NICE_LIMIT 20 /* that RLIMIT_NICE is less than, by the nice value */

/* Constant when there are threads. */
static int nice_value; /* the process's */
static bool may_lower;

/* The calling thread's: setpriority(2), notes. */
static bool set_nice(bool unhurried)
{
	int value = unhurried ? MIN(nice_value + LOWER, NICE_MAX) : nice_value;

	return setpriority(PRIO_PROCESS, 0, value) == 0;
}

static void *try_to_return(void *returned)
{
	*(bool *)returned = set_nice(true) && set_nice(false);
	return NULL;
}

static void raise_limit(void)
{
	const rlim_t wanted = NICE_LIMIT - nice_value;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NICE, &limit) < 0 || limit.rlim_cur >= wanted)
		return;
	limit = (struct rlimit){wanted, MAX(limit.rlim_max, wanted)};
	setrlimit(RLIMIT_NICE, &limit);
}

bool thread_prepare(void)
{
	pthread_t thread;

	nice_value = getpriority(PRIO_PROCESS, 0);
	may_lower = false;
	raise_limit();
	if (pthread_create(&thread, NULL, try_to_return, &may_lower) == 0)
		pthread_join(thread, NULL);
	return may_lower;
}

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

void thread_unhurried(bool unhurried)
{
	static _Thread_local bool known, current;

	if (!may_lower || (known && current == unhurried))
		return;
	known = set_nice(unhurried);
	current = unhurried;
}
