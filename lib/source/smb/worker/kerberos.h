/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_SMB_WORKER_KERBEROS_H
#define LIB_SOURCE_SMB_WORKER_KERBEROS_H

#include "lib/source/smb/worker/worker.h"

/* Reads the Kerberos library's configuration, and the seed of its random numbers. */
void kerberos_begin(struct worker *worker);
/* Credentials of the tickets in start, with a ticket for the server; without one,
 * worker_fail(WIRE_F_TICKET).  NULL: no memory. */
struct cli_credentials *kerberos_credentials(struct worker *worker, const struct wire_start *start);

#endif
