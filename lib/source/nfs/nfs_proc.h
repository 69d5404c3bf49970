/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NFS version 3 (RFC 1813) and the side protocol for ACLs (nfs_acl.h): encodes requests as the
 * arguments of calls, and decodes their results.  Memory only.  A request may take several calls:
 * an object that is known by its path alone is walked to; a LOOKUP without attributes is followed
 * by a GETATTR; and a READDIRPLUS that the server does not have is followed by a READDIR.
 */
#ifndef LIB_SOURCE_NFS_NFS_PROC_H
#define LIB_SOURCE_NFS_NFS_PROC_H

#include "lib/source/backend.h"
#include "lib/source/nfs/nfs_attr.h"
#include "lib/source/nfs/nfs_rpc.h"

#define NFS_PROGRAM    100003
#define NFSACL_PROGRAM 100227
#define NFS_VERSION    3 /* of both, and of MOUNT */
#define NFS_READ_MAX   (1024u * 1024)
#define NFS_DIR_COUNT  (256u * 1024)
#define NFS_DIR_MAX    (1024u * 1024)

enum nfs_procedure {
	NFSPROC3_GETATTR = 1,
	NFSPROC3_LOOKUP = 3,
	NFSPROC3_ACCESS = 4,
	NFSPROC3_READLINK = 5,
	NFSPROC3_READ = 6,
	NFSPROC3_READDIR = 16,
	NFSPROC3_READDIRPLUS = 17,
	NFSPROC3_FSINFO = 19,
	NFSACL_BIT = 256, /* of the side protocol */
	NFSACLPROC3_GETACL = NFSACL_BIT | 1,
	NFS4_BIT = 512, /* of version 4 */
	NFSPROC4_COMPOUND = NFS4_BIT | 1,
};
static inline uint32_t nfs_program_of(enum nfs_procedure procedure)
{
	return procedure & NFSACL_BIT ? NFSACL_PROGRAM : NFS_PROGRAM;
}
static inline uint32_t nfs_version_of(enum nfs_procedure procedure)
{
	return procedure & NFS4_BIT ? 4 : NFS_VERSION;
}
static inline uint32_t nfs_number_of(enum nfs_procedure procedure)
{
	return procedure & ~(uint32_t)(NFSACL_BIT | NFS4_BIT);
}

/* Makes req ready: 0, or the negative status with which it is to be completed at once. */
int nfs_request_begin(const struct nfs_view *view, struct backend_request *req);
/* Frees what begin made; to be called before the request's done(). */
void nfs_request_end(struct backend_request *req);

/* The call to make now, and its arguments. */
enum nfs_procedure nfs_request_procedure(const struct nfs_view *view,
					 const struct backend_request *req);
void nfs_request_encode(const struct backend_request *req, enum nfs_procedure procedure,
			struct xdr_out *out);

/* What versions 3 and 4 share.  Checks the request's object: 0, or the negative status with which
 * the request is to be completed at once. */
int nfs_check_object(const struct backend_request *req);
/* Checks a READ's result when its data, data_len, eof and attributes are in req: 0 or -EBADMSG. */
int nfs_end_read(struct backend_request *req, uint32_t asked);
/* Takes a link's target: 0 or -EBADMSG. */
int nfs_get_target(struct backend_request *req, struct xdr_in *in);
/* Adds an entry unless it is "." or "..".  An entry without a handle loses its attributes where the
 * object has several names. */
void nfs_add_entry(struct backend_request *req, const uint8_t *name, uint32_t len,
		   struct source_entry *entry);
/* Takes what follows n entries in a reply; cookie: the last entry's; verf: the listing's.  0 or
 * -EBADMSG. */
int nfs_end_listing(struct backend_request *req, unsigned n, uint64_t cookie, uint64_t verf,
		    struct xdr_in *in);

#define NFS_CALL_AGAIN 1 /* the request needs another call */
/*
 * Takes the result of the call that was encoded last; rpc: what rpc_reply_begin() said.  The
 * request's status, with its results filled in, or NFS_CALL_AGAIN.
 */
int nfs_request_decode(struct nfs_view *view, struct backend_request *req,
		       enum nfs_procedure procedure, int rpc, struct xdr_in *in);

#endif
