/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of the same build that this one starts. */
#ifndef LIB_BASE_SPAWN_H
#define LIB_BASE_SPAWN_H

#include <sys/types.h>

#define PROGRAM_FIRST_FD 3

/* Where name is: beside this program, or where such are installed.  g_free. */
char *program_find(const char *name);
/*
 * Starts path without arguments and with only KRB5_CONFIG in its environment, no signal
 * blocked. Its descriptors are /dev/null as 0 and 1, this program's 2, and copies of the n (at most
 * 4) fds as PROGRAM_FIRST_FD and following ones.  0 or -errno.
 */
int program_start(pid_t *pid, const char *path, const int *fds, unsigned n);
/* Kills it, waits until it has ended, and gives its wait status, or 0. */
int program_end(pid_t pid);

#endif
