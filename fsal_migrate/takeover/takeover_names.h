/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Continues listings that clients began at the old server, from the old server's cookies: with its
 * names, numbers and cookies, which the retriever asks for.  Changes that clients made in that
 * directory meanwhile may be missing, as in any listing under way.
 */
#ifndef FSAL_MIGRATE_TAKEOVER_TAKEOVER_NAMES_H
#define FSAL_MIGRATE_TAKEOVER_TAKEOVER_NAMES_H

#include "fsal_migrate/volume.h"

#include "nfs23.h"
#include "fsal_migrate/takeover/takeover_objects.h"

/* The cookie in a call that continues a listing of the old server; NULL: the call does not. */
uint64_t *mg_takeover_names_cookie(uint32_t procedure, void *args);
/*
 * Puts the old server's names after that cookie into the reply, in place of the host's names; the
 * reply is one of success.  old: the old server's handle of the directory.  Blocks up to the hold
 * time.  NFS3_OK; NFS3ERR_JUKEBOX: the names did not come in that time; NFS3ERR_IO: the old server
 * refuses.
 */
nfsstat3 mg_takeover_names_bring(struct mg_takeover_server *server, const struct migrate_alias *old,
				 uint64_t cookie, uint32_t procedure, const void *args, void *res);

#endif
