/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal/leave.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "journal/store/live.h"

#define SECOND INT64_C(1000000000)
/* A sync costs clients something, a row costs room. */
#define MANY   10000
#define OFTEN  (60 * SECOND)
#define SELDOM (600 * SECOND)

struct leave {
	int fd;
	GThread *thread;
	uint64_t generation; /* committed before the sync began */
	int64_t began;	     /* CLOCK_BOOTTIME */
	atomic_int result;   /* of the sync: 0 or an errno; -1: it is under way */
};

static gpointer sync_volume(gpointer arg)
{
	struct leave *leave = arg;

	leave->result = syncfs(leave->fd) < 0 ? errno : 0;
	return NULL;
}

struct leave *leave_new(int root_fd)
{
	struct leave *leave = g_new0(struct leave, 1);

	leave->fd = root_fd;
	leave->began = journal_boottime();
	return leave;
}

void leave_free(struct leave *leave)
{
	if (!leave)
		return;
	if (leave->thread)
		g_thread_join(leave->thread);
	g_free(leave);
}

void leave_step(struct leave *leave, struct journal_store *store)
{
	const int64_t waited = journal_boottime() - leave->began;
	uint64_t rows;

	if (leave->thread && leave->result >= 0) {
		g_thread_join(leave->thread);
		leave->thread = NULL;
		if (leave->result == 0)
			journal_store_purge(store, leave->generation);
		else
			g_warning("syncfs: %s: rows of what was removed are kept",
				  g_strerror(leave->result));
	}
	if (leave->thread || waited < OFTEN)
		return;
	rows = journal_store_leaving(store);
	if (!rows || (rows < MANY && waited < SELDOM))
		return;
	leave->generation = journal_store_state(store)->generation;
	leave->began = journal_boottime();
	leave->result = -1;
	leave->thread = g_thread_new("sync", sync_volume, leave);
}
