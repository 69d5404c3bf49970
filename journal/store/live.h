/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What readers see of a migrate-journal at work, and how they ask it to hurry: `live` in the
 * store's directory, locked (fcntl) as long as it runs.  It has its room on disk from the first
 * start on, so that "no room" can be said when there is none.
 *
 * Asked by signals: SIGUSR1, put what was noticed into the store now; SIGUSR2, and scan; SIGHUP,
 * and forget everything before: a volume was attached.
 */
#ifndef JOURNAL_STORE_LIVE_H
#define JOURNAL_STORE_LIVE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define JOURNAL_LIVE_FILE  "live"
#define JOURNAL_ASK_COMMIT SIGUSR1
#define JOURNAL_ASK_SCAN   SIGUSR2
#define JOURNAL_ASK_BEGIN  SIGHUP

struct journal_live {
	uint64_t magic;	    /* JOURNAL_LIVE_MAGIC */
	uint64_t full;	    /* 1: no room */
	uint64_t scanning;  /* 1: a scan is under way */
	uint64_t looked_at; /* objects it has seen */
	uint64_t scans;	    /* that were finished since the first start */
	int64_t settled;    /* CLOCK_BOOTTIME, ns: what was before is in the store */
	int64_t scanned; /* when the last finished scan began (same clock); 0: none in this boot */
	/* How many objects that scan could not look at, and the path of one.  As long as the
	 * store's state.gaps is part_of its gap is about these, what is below them, and what
	 * happened since `later` (CLOCK_REALTIME; INT64_MAX: nothing) alone. */
	uint64_t unread, part_of;
	int64_t later;
	char unread_path[256];
};
#define JOURNAL_LIVE_MAGIC UINT64_C(0x314c4e524a4d4751)

/* The writer's: makes the file and takes the lock.  The descriptor, kept as long as it runs; *live
 * as it was left.  -EBUSY: another one runs.  Another descriptor of it that this process closes
 * drops the lock. */
int journal_live_hold(const char *dir, struct journal_live *live);
/* 0 or -errno. */
int journal_live_put(int fd, const struct journal_live *live);

/* The readers': its process, or 0 if none runs.  -errno; -ENOENT: never was one.  live may be NULL.
 */
pid_t journal_live_get(const char *dir, struct journal_live *live);

/* Since when changes may be missing, not counting objects that cannot be read; INT64_MAX: none are.
 * gap, gaps: the store's state. */
int64_t journal_live_gap(const struct journal_live *live, int64_t gap, uint64_t gaps);

int64_t journal_boottime(void); /* CLOCK_BOOTTIME, ns */
int64_t journal_realtime(void); /* CLOCK_REALTIME, ns */

#endif
