/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Listings that clients began at the old server, and go on with from its cookies: its own names,
 * numbers and cookies, through the retriever.  What clients changed in that directory meanwhile may
 * be missing in them, as in any listing under way.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_NAMES_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_NAMES_H

#include "fsal_migrate/volume.h"

#include "nfs23.h"
#include "fsal_migrate/takeover/takeover_objects.h"

/* The cookie of a call that goes on from one of the old server's; NULL: it does not. */
uint64_t *mg_takeover_names_cookie(uint32_t procedure, void *args);
/*
 * Puts the old server's names after that cookie into the reply, which is one of success, in place
 * of the host's.  old: what clients call the directory.  NFS3_OK; NFS3ERR_JUKEBOX: they did not
 * come within the hold time, for which it blocks; NFS3ERR_IO: the old server refuses.
 */
nfsstat3 mg_takeover_names_bring(struct mg_takeover_server *server, const struct migrate_alias *old,
				 uint64_t cookie, uint32_t procedure, const void *args, void *res);

#endif
