/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The retrievers of several volumes, asked at once by one thread: one that hangs does not hold up
 * the others' answers.
 */
#ifndef CTL_CROWD_H
#define CTL_CROWD_H

#include "ctl/ctl.h"

struct ctl_member {
	char *name;
	/* Of the last question that was answered, or that nobody can answer: 0 and reply; or
	 * -errno, as ctl_complain_of() takes it, and text. */
	int status;
	char *text;
	GKeyFile *reply;
	bool waits;   /* a question has no answer yet */
	gint64 asked; /* when; g_get_monotonic_time() */
	/* the crowd's own */
	struct migrate_volume *volume;
	uint64_t request;
	gint64 seen;
};

struct ctl_crowd {
	struct ctl_member *members; /* as they are in ctl->volumes */
	unsigned n;
};

/* Connects later.  NULL with a line on stderr. */
struct ctl_crowd *ctl_crowd_new(const struct ctl *ctl);
void ctl_crowd_free(struct ctl_crowd *crowd);

/* Asks those that owe no answer. */
void ctl_crowd_ask(struct ctl_crowd *crowd, const char *command);
/*
 * Takes answers until nobody owes one, or until `deadline` (g_get_monotonic_time(); 0: however long
 * a retriever takes that is there).  Who cannot be reached owes none: -ENOTCONN, -ETIME or -EPROTO.
 */
void ctl_crowd_wait(struct ctl_crowd *crowd, gint64 deadline);

#endif
