/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SMB_SESSION_H
#define SMB_SESSION_H

#include "worker.h"

/* Connects and says so, or fails. */
void session_open(struct worker *worker, const struct wire_start *start, struct wire_attr *root);
/* Looks whether the server is still there; for ever. */
void session_watch(struct worker *worker);

#endif
