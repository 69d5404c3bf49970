/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes events from the kernel, in a thread that waits for nothing else, so that its queue does not
 * overflow while the store waits for the disk; and keeps them, those of the retriever left out,
 * until they are taken.  What was said before and changes nothing (the thousandth write to a file)
 * is kept once, and the kernel is asked not to tell it any more (mutes.h).  When there is no room
 * for more it stops taking, and the kernel's queue overflows: a gap.
 */
#ifndef JOURNAL_WATCH_H
#define JOURNAL_WATCH_H

#include "journal/store/events.h"

/* For each of two halves: 100,000 events or so. */
#define WATCH_ROOM ((size_t)16 << 20)

/* Where the next one begins. */
#define WATCH_ALIGNED(len) (((len) + 7) & ~(size_t)7)

struct watch;

struct watched {
	const char *bytes; /* fanotify events, one after the other; valid until the next take */
	size_t len;
	int64_t seen;	 /* CLOCK_REALTIME: all that was before is in them, or was before */
	int64_t settled; /* the same as CLOCK_BOOTTIME */
	int64_t lost; /* events since then (CLOCK_REALTIME) may be missing; INT64_MAX: none are */
};

/* Watches the file system of root_fd, which stays the caller's and open, from its return on.
 * socket: the retriever's; self: a process whose changes are left out too (the store may be on that
 * file system), or 0.  NULL with *error, one line. */
struct watch *watch_new(int root_fd, const char *socket, pid_t self, GError **error);
void watch_free(struct watch *watch);
/* Becomes readable when there are events, when half of the room is used, and when it ended. */
int watch_fd(const struct watch *watch);
enum watch_fill { WATCH_EMPTY, WATCH_SOME, WATCH_MUCH };
enum watch_fill watch_fill(struct watch *watch);
/* now: waits, a second at most, until what has happened so far was read.  One thread.  false with
 * *error: the kernel gives no more events. */
bool watch_take(struct watch *watch, bool now, struct watched *out, GError **error);

#endif
