/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process that reads an old server's replies with somebody else's library may do on this
 * host: nothing.  Ends the process where it cannot be had.  One thread.
 *
 *   sandbox_drop()         its user is no other's
 *   sandbox_close(true)    for finding the server: what is world-readable, and connections
 *   sandbox_keep()         whom it asked for the server's name and for libraries is out of reach
 *   sandbox_close(false)   before the first byte of the server's
 */
#ifndef LIB_BASE_SANDBOX_H
#define LIB_BASE_SANDBOX_H

#include <stdbool.h>

/* No root, nothing to gain it with, no more than 1 GiB of memory, no core, not to be looked into,
 * not to outlive who started it.  Its user is quickmigrate-worker, or, where /etc/passwd has none,
 * one of its own.  Descriptors from first_other on are closed. */
void sandbox_drop(unsigned first_other);
/* Every open descriptor except 0 to 2, the kept ones and those that wait for events becomes a copy
 * of 0.  Its number stays taken: a library that closes a descriptor twice closes nothing else. */
void sandbox_keep(const int *kept, unsigned n);
/* From now on it reads and writes what is open, and has no other system call: no new files, sockets
 * or processes, no code.  Those fail with EPERM.  may_open: but that it reads files that everybody
 * may read, and connects; nothing of a file is changed.  It may be closed later. */
void sandbox_close(bool may_open);

#endif
