/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE	   100000 /* ns, the least that Linux takes */
#define LOWER	   10	  /* of nice: a ninth of the weight */
#define NICE_MAX   19
#define NICE_LIMIT 20 /* that RLIMIT_NICE is less than, by the nice value */

/* struct sched_attr of sched_setattr(2), whose headers differ between hosts. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice_value;
	uint32_t priority;
	uint64_t slice /* ns */, deadline, period;
};

/* Constant when there are threads. */
static int nice_value; /* the process's */
static bool may_lower;

/* The calling thread's. */
static _Thread_local struct {
	bool known; /* that it is as follows */
	bool background, unhurried;
} mine;

static bool chosen_by_administrator(int policy)
{
	return policy != SCHED_OTHER && policy != SCHED_BATCH;
}

/* Nice values are a thread's here: sched_setattr(2), and setpriority(2), notes. */
static bool set_thread(bool background, bool unhurried)
{
	int lower = MIN(nice_value + LOWER, NICE_MAX);
	struct attributes attr = {
		.size = sizeof(attr),
		.policy = background ? SCHED_BATCH : SCHED_OTHER,
		.nice_value = getpriority(PRIO_PROCESS, 0),
		.slice = background || unhurried ? SLICE : 0,
	};

	if (may_lower)
		attr.nice_value = unhurried ? lower : nice_value;
	return syscall(SYS_sched_setattr, 0, &attr, 0) == 0;
}

static void change(bool background, bool unhurried)
{
	if (mine.known && mine.background == background && mine.unhurried == unhurried)
		return;
	mine.background = background;
	mine.unhurried = unhurried;
	mine.known =
		chosen_by_administrator(sched_getscheduler(0)) || set_thread(background, unhurried);
}

static void *try_to_return(void *returned)
{
	*(bool *)returned = setpriority(PRIO_PROCESS, 0, MIN(nice_value + LOWER, NICE_MAX)) == 0 &&
			    setpriority(PRIO_PROCESS, 0, nice_value) == 0;
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
	change(background, mine.unhurried);
}

void thread_unhurried(bool unhurried)
{
	change(mine.background, may_lower && unhurried);
}
