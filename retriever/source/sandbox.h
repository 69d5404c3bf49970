/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a process that reads an old server's replies with somebody else's library may do on this
 * host: nothing.  Ends the process where it cannot be had. */
#ifndef SOURCE_SANDBOX_H
#define SOURCE_SANDBOX_H

#include <stdbool.h>

/* No root, nothing to gain it with, no core, not to be looked into, not to outlive who started it.
 * Descriptors from first_other on are closed. */
void sandbox_drop(unsigned first_other);
/* No new files, sockets or processes from now on.  may_open: but for files that nobody may read,
 * and connections. */
void sandbox_close(bool may_open);

#endif
