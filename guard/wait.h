/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Those who wait until an object is whole, or filled.  One thread.
 *
 * A file comes in pieces, one after the other, and is synced then, which takes its record away.  A
 * few are asked for as a client's would be, the others in the background: a scanner with many
 * threads keeps nobody from the old server.  A program to which no
 * piece comes within the limit gets an error; what was begun for a directory goes on, for the next
 * program.
 *
 * A thread of the kernel's NFS server serves everybody, and its clients come again when they are
 * told to: it waits for a moment, as do a few others, and a file goes on coming when they are gone.
 */
#ifndef GUARD_WAIT_H
#define GUARD_WAIT_H

#include <stdbool.h>

#include "common/migrate.h"
#include "guard/marks.h"

struct waits;

/* Whether nothing is to be waited for, for ever. */
bool waits_is_whole(const struct migrate_stub *stub);

/* error: 0 or an errno, and why.  The event's descriptor is closed afterwards. */
typedef void (*waits_answer_fn)(void *arg, const struct marks_event *event, int error,
				const char *why);
/* limit: seconds. */
struct waits *waits_new(struct migrate_volume *volume, unsigned limit, waits_answer_fn answer,
			void *arg);
/* The event's descriptor is theirs from now on.  comes_again: it is answered with EAGAIN soon. */
void waits_add(struct waits *waits, const struct marks_event *event, uid_t uid, bool comes_again);
/* Whether one more would be too much for this user: nobody may have more than what he leaves free,
 * and all but root leave some to root. */
bool waits_are_full(const struct waits *waits, uid_t uid);
/* Of a filled directory, open for reading: begins to fill those in it, a few of them, for which
 * nobody waits yet: a path below them is looked up without asking. */
void waits_look_ahead(struct waits *waits, int dir_fd);
/* Looks at what is due; to be called every now and then. */
void waits_turn(struct waits *waits);
/* All that have a descriptor and a request; and those of them that wait for an answer. */
unsigned waits_count(const struct waits *waits);
unsigned waits_waiting(const struct waits *waits);
/* Everybody who still waits gets an error. */
void waits_fail(struct waits *waits);
/* After migrate_volume_free(). */
void waits_free(struct waits *waits);

#endif
