/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The retrievers of several volumes, asked at once by one thread: one that hangs does not hold up
 * the others' answers.
 */
#ifndef CTL_ASK_ALL_H
#define CTL_ASK_ALL_H

#include "ctl/ctl.h"

struct ask_all_member {
	char *name;
	/* Of the last question that was answered, or that nobody can answer.  status 0: reply is
	 * set; -errno: as ctl_complain_of() takes it, with text. */
	int status;
	char *text;
	GKeyFile *reply;
	bool waits;   /* a question has no answer yet */
	gint64 asked; /* when; g_get_monotonic_time() */
	/* for ask_all.c alone */
	char *socket;
	struct migrate_volume *volume;
	uint64_t request;
	gint64 seen;
};

struct ask_all {
	struct ask_all_member *members; /* as they are in ctl->volumes */
	unsigned n;
};

/* Connects later.  NULL with a line on stderr. */
struct ask_all *ask_all_new(const struct ctl *ctl);
void ask_all_free(struct ask_all *crowd);

/* Asks all retrievers that owe no answer. */
void ask_all_ask(struct ask_all *crowd, const char *command);
/*
 * Takes answers until no retriever owes one, or until `deadline` (g_get_monotonic_time(); 0:
 * however long a retriever takes that is there).  A retriever that cannot be reached owes none: its
 * status is -ENOTCONN, -ETIME or -EPROTO.
 */
void ask_all_wait(struct ask_all *crowd, gint64 deadline);

#endif
