/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files somebody has opened. */
#ifndef TESTS_RETRIEVER_CORE_OPENS_H
#define TESTS_RETRIEVER_CORE_OPENS_H

#include "tests/retriever/core.h"

#include <sys/inotify.h>

/* Counts from now on; core_opened() ends it. */
static inline int core_watch_opens(struct core *core, const char *dir)
{
	g_autofree char *path = core_path(core, dir);
	int in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	ck_assert_int_ge(inotify_add_watch(in, path, IN_OPEN), 0);
	return in;
}

/* How many opens of files in the directory there were. */
static inline unsigned core_opened(int in)
{
	char events[1 << 16] __attribute__((aligned(__alignof__(struct inotify_event))));
	unsigned opened = 0;
	ssize_t len;

	while ((len = read(in, events, sizeof events)) > 0)
		for (ssize_t at = 0; at < len;) {
			const struct inotify_event *e = (const void *)(events + at);

			ck_assert(!(e->mask & IN_Q_OVERFLOW));
			opened += !(e->mask & IN_ISDIR);
			at += sizeof *e + e->len;
		}
	close(in);
	return opened;
}

#endif
