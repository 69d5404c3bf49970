/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * FSAL MIGRATE: the NFS door of a migrating volume, stacked over FSAL VFS.
 *
 * Every operation goes down to VFS unchanged unless the object that it touches is unfinished.  On
 * an unfinished object, an operation first waits until the names that it needs are here (fill.h),
 * or makes its change in a bracket (bracket.h), or is parked without a thread (park.h); and it
 * shows the times and the space of the record (attrs.h).  An operation that takes longer than the
 * hold time is answered with ERR_FSAL_DELAY, which the protocol layer turns into NFS3ERR_JUKEBOX or
 * NFS4ERR_DELAY, while the work goes on.
 *
 * MDCACHE, which sits above, holds locks across some calls: a directory's content lock for writing
 * in lookup, readdir and rename, an object's attribute lock in getattrs.  A thread that waits in
 * one of these calls keeps others from objects that are whole, and from every request with that
 * directory's handle, because MDCACHE takes the directory's content lock for each such request.  So
 * lookup and readdir wait for their own directory only and no longer than the hold time together
 * (fill.c), getattrs never waits and never answers DELAY, and the number of threads that wait at
 * all is limited (call.c).
 *
 * Each file uses only what stands below it here; main.c hands the operations to the host.
 *
 *   main
 *   export  file  namespace  rename  xattrs
 *   bypass
 *   handle  connection
 *   takeover
 *   takeover_handles
 *   takeover_names
 *   takeover_objects
 *   replies  takeover_clients  takeover_server
 *   attrs  read  write  compat_names  compat_link
 *   bracket  fill  park
 *   private
 *   object  call
 *   up  compat
 *   volume  pool  status
 *
 * Locks, in the order in which they are taken:
 *   takeover.c's      what exports know of takeover handles; held across lookups of the FSAL below
 *   connection.c's    the list of volumes, their numbers of exports
 *   volume.lock       fills, parked requests, the list of exports; see the members
 *   the locks of libmigrate, and of pool.c, takeover_handles.c and takeover_clients.c (leaves)
 * Only the first is held across calls of the FSAL below, of MDCACHE or of the protocol layer, or
 * across anything that waits.  libmigrate's requests may be made under volume.lock: they never
 * block.
 */
#ifndef FSAL_MIGRATE_DOOR_H
#define FSAL_MIGRATE_DOOR_H

#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fsal.h"
#include "fsal_api.h"
#include "FSAL/fsal_commonlib.h"
#include "gsh_list.h"

#include "common/migrate.h"

static inline fsal_status_t mg_ok(void)
{
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static inline fsal_status_t mg_delay(void)
{
	return fsalstat(ERR_FSAL_DELAY, 0);
}

/* status.c: the FSAL status for the result of a request of libmigrate. */
fsal_status_t mg_status(int result);
/* The same after a wait for names: only a status that a lookup and a listing may answer. */
fsal_status_t mg_fill_status(int result);
/* The status for a negative result of mg_look(), where -ESTALE means that the object is gone. */
fsal_status_t mg_look_status(int result);

#endif
