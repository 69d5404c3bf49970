/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Accepts handles of old servers in requests of NFS version 3 and of NFSACL.
 *
 * A handle of another server never gets as far as the FSAL: the host refuses handles that it has
 * not made itself before it looks for the export.  So such handles are replaced by the host's own
 * when a call was decoded and nothing was done with it yet, in libntirpc's svc_ah_checksum.  All
 * that follows, the export's access rules and squashing included, is as for any other handle.  In
 * the reply (svc_ah_wrap) the object gets the file number that clients know of it.  Only there: so
 * clients that mount anew see the real number, and notice nothing when the takeover ends.
 *
 * Any other handle that the host would call bad is answered as stale, or is to be tried again as
 * long as objects of the old server are missing here.
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
	struct migrate_alias *alias; /* not owned; constant, and never freed */
	uint8_t own_len;	     /* of the host's handle */
	uint8_t own[NFS3_FHSIZE] __attribute__((aligned(4)));
	uint16_t export_id;
	size_t depth; /* of two exports with the same handle, the one with the longer path counts */
	struct mg_takeover_clients *clients;
};

/* Replaces the handles of this owner; n = 0: the owner has no handles any more.  objects: all other
 * objects of the export, or NULL; not owned, constant, and never freed.  Any thread. */
void mg_takeover_handles_set(const void *owner, const struct mg_takeover_handle *handles, size_t n,
			     const struct mg_takeover_objects *objects);
/* Puts libntirpc's operations back, when the module goes. */
void mg_takeover_handles_end(void);

#endif
