/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Finds the handles in calls of NFS version 3 (RFC 1813), NFSACL and NLM version 4, and in replies
 * what belongs to the handles. */
#ifndef FSAL_MIGRATE_TAKEOVER_REPLIES_H
#define FSAL_MIGRATE_TAKEOVER_REPLIES_H

#include "fsal_migrate/door.h"

#include "nfs23.h"

#define MG_NFS_PROGRAM	  100003
#define MG_NFSACL_PROGRAM 100227
#define MG_NLM_PROGRAM	  100021

/* The first two handles of a call's arguments, also of calls for locks; NULL: the call has
 * fewer. */
void mg_call_handles(uint32_t program, uint32_t procedure, void *args, nfs_fh3 *handle[2]);
/* Whether a procedure for locks answers in its reply, and not by a call back. */
bool mg_has_lock_result(uint32_t procedure);

/* What else a reply brings: an object with its attributes, or names. */
struct mg_brought {
	nfs_fh3 *handle; /* NULL: none */
	bool_t *follows; /* whether the handle is there, may be cleared; NULL: it must be there */
	fattr3 *attributes;    /* the object's; NULL: not in the reply */
	char *verifier;	       /* of a listing (RFC 1813, section 3.3.16); NULL: none */
	struct xdr_uio *names; /* encoded; NULL: there are none */
	bool plus;	       /* of READDIRPLUS */
};
void mg_reply_brought(uint32_t program, uint32_t procedure, void *res, struct mg_brought *brought);

/* The reply's attributes of the objects that the call's handles name; NULL: it has none. */
void mg_reply_attributes(uint32_t program, uint32_t procedure, void *res, fattr3 *of[2]);

#endif
