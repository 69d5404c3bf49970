/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where a reply of NFS version 3 (RFC 1813), or of NFSACL, has the attributes of what its call
 * names. */
#ifndef REPLIES_H
#define REPLIES_H

#include "door.h"

#include "nfs23.h"

#define MG_NFS_PROGRAM	  100003
#define MG_NFSACL_PROGRAM 100227

/* The first two handles of a call's arguments; NULL: it has fewer. */
void mg_call_handles(uint32_t program, uint32_t procedure, void *args, nfs_fh3 *handle[2]);
/* The attributes of what they name, in the reply; NULL: it has none. */
void mg_reply_attributes(uint32_t program, uint32_t procedure, void *res, fattr3 *of[2]);

#endif
