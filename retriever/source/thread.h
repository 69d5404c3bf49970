/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef THREAD_H
#define THREAD_H

#include <stdbool.h>

/*
 * What the calling thread does from now on is background work, or is not; threads and processes
 * that it starts are like it at first.
 *
 * Background work runs under SCHED_BATCH (sched(7)): when it is woken it does not interrupt whoever
 * runs, so that one switch is made for many replies, and demand and the file servers go first.
 * Measured where the old server shares the processors: a migration from SMB takes a quarter less
 * CPU.  Whatever other policy an administrator gave the process stays as it is.
 */
void thread_background(bool background);

#endif
