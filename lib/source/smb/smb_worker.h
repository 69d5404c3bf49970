/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts and ends a worker: its process and the memory that is shared with it. */
#ifndef LIB_SOURCE_SMB_SMB_WORKER_H
#define LIB_SOURCE_SMB_SMB_WORKER_H

#include <sys/types.h>

#include "lib/config/smb_url.h"
#include "lib/source/smb/wire.h"
#include "lib/source/source.h"

struct smb_worker {
	pid_t pid;
	int sock;	 /* not blocking */
	uint8_t *memory; /* WIRE_SLOTS * WIRE_SLOT_BYTES */
};
/* The programs. */
#define SMB_READER "migrate-smb-worker"
#define SMB_WRITER "migrate-smb-writer"
/* Starts one and tells it how to connect.  0 or -errno. */
int smb_worker_start(struct smb_worker *worker, const char *name, const struct wire_start *start);
/* The same with what config and url say, and with the secret that config names.  0 or -errno;
 * -EACCES with error set: the secret cannot be read. */
int smb_worker_log_on(struct smb_worker *worker, const char *name, const struct smb_config *config,
		      const struct smb_url *url, unsigned stall_ms, GError **error);
/* Ends the worker in whatever state it is.  Its wait status, or 0. */
int smb_worker_end(struct smb_worker *worker);

#endif
