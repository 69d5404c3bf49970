/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_SMB_WORKER_SESSION_H
#define LIB_SOURCE_SMB_WORKER_SESSION_H

#include "lib/source/smb/worker/worker.h"

/* Finds the server, connects to it, and loads all that the log-on needs, or fails.  Reads nothing
 * from the server.  The connection's descriptor. */
int session_connect(struct worker *worker, const struct wire_start *start);
/* Negotiates, logs on and looks at the root, or fails.  Opens no file of this host, and asks no
 * other server. */
void session_open(struct worker *worker, const struct wire_start *start, struct wire_attr *root);
/* From now on looks regularly whether the server is still there. */
void session_watch(struct worker *worker);

#endif
