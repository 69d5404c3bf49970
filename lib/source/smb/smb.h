/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * smb://: reads an old SMB server (SMB 2 and 3) through worker processes (smb/wire.h), one for each
 * connection.  Objects are found by path.
 *
 *   smb.c         the table: opens a source, decides which connection gets a request
 *   smb_conn.c    a connection: its thread, its worker, requests under way
 *   smb_pool.c    requests that wait, for connections of one kind
 *   smb_worker.c  a worker's process and memory
 *   smb_reply.c   what a worker says, checked
 */
#ifndef LIB_SOURCE_SMB_SMB_H
#define LIB_SOURCE_SMB_SMB_H

#include "lib/source/source.h"

extern const struct backend_ops backend_smb_ops;

#endif
