/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether file systems answer: a dead mount holds whoever looks at it, for ever. */
#ifndef CTL_DOCTOR_PATHS_H
#define CTL_DOCTOR_PATHS_H

/* The first of the paths (NULL-terminated) whose file system does not answer within wait_ms, there
 * or not; NULL: all do.  A process of its own looks, at each once in the life of this one.  One
 * thread. */
const char *paths_find_silent(const char *const *paths, unsigned wait_ms);

#endif
