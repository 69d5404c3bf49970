/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that doors give for clients that go on using the old server's handles (`takeover =
 * all`). */
#ifndef RETRIEVER_SOCKET_CONTROL_OLD_H
#define RETRIEVER_SOCKET_CONTROL_OLD_H

#include "retriever/objects/retriever.h"

/* Called before each of the two functions that follow.  0; -EBUSY: too many of these commands are
 * under way, and neither must be called.  Does not block. */
int control_old_admit(struct retriever *retriever, const char *argument, char **text);

/*
 * Names of a directory as the old server lists them, for clients that were listing it there.
 * argument: HANDLE (hexadecimal) COOKIE VERIFIER.  The text: a line VERIFIER EOF (0 or 1), and one
 * for each name: FILEID COOKIE NAME (hexadecimal).  A page at most, and at most 60 KB.  0 or
 * -errno.  Blocks for the old server.  Any thread.
 */
int control_old_names(struct retriever *retriever, const char *argument, char **text);

/* Finds the directory of a handle that is not known yet: old_directory.h.  argument: HANDLE.  On a
 * JOB_OLD thread only. */
int control_old_directory(struct retriever *retriever, const char *argument, char **text);

#endif
