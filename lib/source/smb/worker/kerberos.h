/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_SOURCE_SMB_WORKER_KERBEROS_H
#define LIB_SOURCE_SMB_WORKER_KERBEROS_H

#include "lib/source/smb/worker/worker.h"

/* Reads the library's configuration, and what its random numbers begin with. */
void kerberos_begin(struct worker *worker);
/* By the tickets that start has.  There is one for the server then; or worker_fail(WIRE_F_TICKET).
 * NULL: no memory. */
struct cli_credentials *kerberos_credentials(struct worker *worker, const struct wire_start *start);

#endif
