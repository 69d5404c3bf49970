/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vfs_migrate: the SMB door of a migrating volume, a module of smbd.
 *
 * Every hook passes down unchanged unless the object that it touches is unfinished.  On an
 * unfinished object, a hook first asks the retriever for what it needs (call.c), or makes its
 * change in a bracket (bracket.c), and shows the record's times.
 *
 * smbd serves one client per process, in one thread with one event loop (tevent).  A hook that
 * waits stops that client.  So hooks that can be deferred are deferred: opens (open.c), reads and
 * writes.  Path lookups and changes of names cannot be deferred; they wait, no longer than
 * migrate:hold.  A request that takes longer fails with NT_STATUS_IO_TIMEOUT, while the work goes
 * on.
 *
 * libmigrate's replies arrive in migrate_volume_dispatch(), which is called by the event loop and
 * by hooks that wait, so possibly in the middle of any hook.  A reply therefore only notes its
 * status; callbacks of this module run later, from the event loop itself.  These callbacks, and
 * everything after a deferral, run with the euid of the user who was served last, and have to call
 * change_to_user_and_service_by_fsp() first.
 *
 * Hooks return -1 with errno, or an NTSTATUS.  Functions here return 0 or -errno, as migrate.h
 * says; vm_fail() and vm_status() translate.
 *
 * Each file uses only what stands below it here; main.c hands the hooks to the host.
 *
 *   main
 *   compat
 *   namespace  open  offload
 *   lookup  read  setters  space  write
 *   attrs  bracket
 *   object
 *   call  stat_cache
 *   volume
 *   host
 */
#ifndef VFS_MIGRATE_DOOR_H
#define VFS_MIGRATE_DOOR_H

#include "includes.h"
#include "smbd/smbd.h"
#include "smbd/globals.h"
#include "system/filesys.h"
#include "lib/util/tevent_unix.h"
#include "lib/util/tevent_ntstatus.h"

#include "common/migrate.h"

/* The errno of a hook for a negative result: sets errno, returns -1.  -EAGAIN, -ECANCELED and
 * -ECONNRESET become ETIMEDOUT; errors of the old server or of a record become EIO. */
int vm_fail(int result);
/* The same as a status; 0: NT_STATUS_OK. */
NTSTATUS vm_status(int result);
/* Ends a tevent request that failed, with the errno for the result. */
void vm_req_fail(struct tevent_req *req, int result);
/* For a hook's recv function: whether the request succeeded.  *aio: what the host is told; `done`
 * if the request succeeded. */
bool vm_io_recv(struct tevent_req *req, const struct vfs_aio_state *done,
		struct vfs_aio_state *aio);

/*
 * The descriptor of the object that fsp has open (for a stream, of its base file), with O_PATH or
 * without.  For the working directory (conn->cwd_fsp) it is AT_FDCWD, which the functions of this
 * module take, and other functions may not.
 */
int vm_fd(const struct files_struct *fsp);
/* A copy of the descriptor (of AT_FDCWD one with O_PATH), or -errno. */
int vm_dup(int fd);

#endif
