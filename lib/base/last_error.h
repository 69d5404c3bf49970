/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a daemon that cannot start has ended: a line in a file beside its socket, for whoever finds
 * nobody there.  It is root's alone, and is gone when the daemon runs, or the machine restarts.
 */
#ifndef LIB_BASE_LAST_ERROR_H
#define LIB_BASE_LAST_ERROR_H

/* NULL: it runs, and the file goes.  What cannot be written is in the log all the same. */
void last_error_set(const char *socket, const char *message);
/* g_free; NULL: there is none, or it may not be read. */
char *last_error_get(const char *socket);

#endif
