/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All of it, or an error. */
#ifndef LIB_BASE_WRITE_FULLY_H
#define LIB_BASE_WRITE_FULLY_H

#include <stddef.h>
#include <sys/types.h>

#define WRITE_BEHIND ((off_t)-1) /* where the descriptor stands */

/* Writes at `at`.  0, or -errno, which errno has too: a part may be written then. */
int write_fully(int fd, const void *bytes, size_t len, off_t at);

#endif
