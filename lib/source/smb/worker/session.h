/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_SMB_WORKER_SESSION_H
#define LIB_SOURCE_SMB_WORKER_SESSION_H

#include "lib/source/smb/worker/worker.h"

/* Finds the server, connects to it, and has ready what it takes to log on, or fails.  Nothing is
 * read from the server.  The connection's descriptor. */
int session_connect(struct worker *worker, const struct wire_start *start);
/* Negotiates, logs on and looks at the root, or fails.  No file is opened for it, and nobody else
 * asked. */
void session_open(struct worker *worker, const struct wire_start *start, struct wire_attr *root);
/* Looks whether the server is still there; for ever. */
void session_watch(struct worker *worker);

#endif
