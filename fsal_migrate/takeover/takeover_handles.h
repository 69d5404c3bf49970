/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Old servers' handles, in requests of NFS version 3 and of NFSACL.
 *
 * A handle of another server never gets as far as the FSAL: the host refuses what it has not made
 * itself before it looks for the export.  So they become the host's own where a call was decoded
 * and nothing was done with it yet, which is libntirpc's svc_ah_checksum: what follows, access
 * rules of the export and squashing among it, is as for any other handle.  In the reply
 * (svc_ah_wrap) the object has the file number that clients know of it; only there, so that what
 * mounts anew sees what is really here, and need not notice when this is gone.
 *
 * Any other handle that the host calls bad is stale, or is to be tried again, as long as objects of
 * the old server are missing here.
 *
 * These operations are one table for the whole process, of AUTH_NONE and AUTH_SYS.  It is the table
 * of the libntirpc that this module was built and linked with, by its version; nothing is replaced
 * unless an export has a Takeover.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_HANDLES_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_HANDLES_H

#include "fsal_migrate/door.h"

#include "nfs23.h"
#include "fsal_migrate/takeover/takeover_clients.h"
#include "fsal_migrate/takeover/takeover_objects.h"

struct mg_takeover_handle {
	struct migrate_alias *alias; /* not owned: constant as long as the process */
	uint8_t own_len;	     /* the host's */
	uint8_t own[NFS3_FHSIZE] __attribute__((aligned(4)));
	uint16_t export_id;
	size_t depth; /* of two exports that have it the one with the longer path counts */
	struct mg_takeover_clients *clients;
};

/* What owner had is replaced by this; n = 0: it has none any more.  objects: all others, or NULL;
 * not owned, constant as long as the process.  Any thread. */
void mg_takeover_handles_set(const void *owner, const struct mg_takeover_handle *handles, size_t n,
			     const struct mg_takeover_objects *objects);
/* Puts libntirpc's operations back.  When the module goes. */
void mg_takeover_handles_end(void);

#endif
