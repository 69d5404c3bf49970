/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keeper is a process that has the descriptors open, and does nothing else.  systemd before 254
 * keeps them (keep.h) from one start to the next, but closes them where a unit is stopped: then
 * everybody would read what is not here.  The unit's KillMode=process leaves the keeper alive.  The
 * next guard ends it when it has the descriptors itself, and starts one of its own.
 *
 * It stays in the guard's mount namespace, in which nothing holds the volume: an unmount on the
 * machine arrives there, as PrivateMounts= makes it a slave of the machine's.
 *
 * path: of a file that nobody but root may open.  The keeper is the process that holds its lock
 * (fcntl(2)).  It hands them over by a socket beside it, or, where that has no room for its name or
 * the keeper is of an older release, has them taken (pidfd_getfd(2)).
 *
 * One that is given something to do does that each second, and at once when a descriptor can be
 * read: what a guard that was stopped leaves behind, with any service manager.
 */
#ifndef GUARD_KEEPER_H
#define GUARD_KEEPER_H

#include <stdbool.h>

/* Whether it takes one: there is a service manager that does not say that it keeps descriptors. */
bool keeper_is_needed(void);
/* What it does, in its process; first: the number that descriptor 0 has there.  Whether it reads
 * the descriptors from now on. */
typedef bool (*keeper_turn_fn)(void *arg, int first);
/* Starts one that has the n fds, of which some may be -1, and waits until it has them.  turn: may
 * be NULL. */
bool keeper_start(const char *path, const int *fds, unsigned n, keeper_turn_fn turn, void *arg);
/* A copy of descriptor n of keeper_start(), close-on-exec, from the one that runs; -1: none. */
int keeper_get(const char *path, unsigned n);
/* Ends the one that runs, and waits until it has ended.  Whether there was one. */
bool keeper_end(const char *path);

#endif
