/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that answer a job (job_*.c), one for each operation. */
#ifndef LIB_SOURCE_SMB_WORKER_JOB_H
#define LIB_SOURCE_SMB_WORKER_JOB_H

#include "lib/source/smb/worker/worker.h"

void do_getattr(struct job *job);
void do_lookup(struct job *job);
void do_readlink(struct job *job);
void do_read(struct job *job);
void do_readdir(struct job *job);
void do_xattrs(struct job *job);
/* In migrate-smb-writer only. */
void do_change(struct job *job);

/* Close the files and listings that no request has used for a while. */
void read_expire(struct worker *worker, struct timeval now);
void list_expire(struct worker *worker, struct timeval now);

#endif
