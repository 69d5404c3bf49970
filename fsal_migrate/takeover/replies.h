/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where calls of NFS version 3 (RFC 1813), NFSACL and NLM version 4 have handles, and replies what
 * goes with them. */
#ifndef FSAL_MIGRATE_TAKEOVER_REPLIES_H
#define FSAL_MIGRATE_TAKEOVER_REPLIES_H

#include "fsal_migrate/door.h"

#include "nfs23.h"

#define MG_NFS_PROGRAM	  100003
#define MG_NFSACL_PROGRAM 100227
#define MG_NLM_PROGRAM	  100021

/* The first two handles of a call's arguments; NULL: it has fewer.  Those of locks, too. */
void mg_call_handles(uint32_t program, uint32_t procedure, void *args, nfs_fh3 *handle[2]);
/* Whether a lock's procedure answers in its reply, and not by a call. */
bool mg_has_lock_result(uint32_t procedure);

/* What a reply brings beside that: an object with its attributes, or names. */
struct mg_brought {
	nfs_fh3 *handle;    /* NULL: none */
	bool_t *follows;    /* whether the handle is there: may be taken back; NULL: it must be */
	fattr3 *attributes; /* its; NULL: not said */
	char *verifier;	    /* of names (RFC 1813, section 3.3.16); NULL: none */
	struct xdr_uio *names; /* encoded; NULL: there are none */
	bool plus;	       /* of READDIRPLUS */
};
void mg_reply_brought(uint32_t program, uint32_t procedure, void *res, struct mg_brought *brought);

/* The attributes of what they name, in the reply; NULL: it has none. */
void mg_reply_attributes(uint32_t program, uint32_t procedure, void *res, fattr3 *of[2]);

#endif
