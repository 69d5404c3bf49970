/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A worker's process and memory. */
#ifndef SMB_WORKER_H
#define SMB_WORKER_H

#include <sys/types.h>

#include "wire.h"

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
/* Ends it, however it is; the wait status, or 0. */
int smb_worker_end(struct smb_worker *worker);

#endif
