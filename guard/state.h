/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What migratectl sees of a guard: a key file beside the socket, locked (flock) while it runs.
 * A process that may read that file can lock it, too; so a second file, which only root can open,
 * says whether another guard runs.
 */
#ifndef GUARD_STATE_H
#define GUARD_STATE_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct state {
	const char *mode; /* "fetch", or "refuse" */
	bool attached;	  /* it has seen that the volume is */
	unsigned waiting;
	guint64 refused;     /* since it was started */
	char *public_server; /* that is on the mount of everybody, or NULL: process_text() of ... */
	pid_t public_tid;    /* ... this one, which may have ended meanwhile */
	char *past;	     /* who serves it without the layer, or NULL */
};

/* The descriptor, to be closed at the end as *lock is.  -1 with *error, also where another one
 * runs. */
int state_hold(const char *socket, int *lock, GError **error);
/* A public server that runs no more is none. */
void state_forget_ended(struct state *state);
void state_put(int fd, const struct state *state);

#endif
