/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_BASE_THREAD_H
#define LIB_BASE_THREAD_H

#include <stdbool.h>

/*
 * What the calling thread does from now on is background work, or is not; threads and processes
 * that it starts are like it at first.
 *
 * Background work runs under SCHED_BATCH (sched(7)): when it is woken it does not interrupt the
 * running thread, so that one switch is made for many replies, and demand and the file servers go
 * first. Measured where the old server shares the processors: a migration from SMB takes a quarter
 * less CPU.  Its slice is the shortest, 0.1 ms instead of about 3, from Linux 6.12 on: who comes
 * while it has the processor waits for the slice to end.  Whatever other policy an administrator
 * gave the process stays as it is.
 */
void thread_background(bool background);

/*
 * The same for work that nobody waits for.  Its slice is as short; it has a ninth of the weight,
 * and the I/O priority that goes with it, where thread_prepare() could see to it.  No less, and not
 * SCHED_IDLE: a thread that has a lock, or writes to a file that a client changes next, must finish
 * within tens of milliseconds, also on a busy machine.
 */
void thread_unhurried(bool unhurried);

/*
 * Before the process has other threads: whether work can have less weight.  Threads do all kinds of
 * work, so they must be able to return: by RLIMIT_NICE, which is raised if need be
 * (CAP_SYS_RESOURCE), or by CAP_SYS_NICE.
 */
bool thread_prepare(void);

#endif
