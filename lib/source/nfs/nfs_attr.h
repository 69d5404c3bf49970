/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the calls of NFS version 3 (RFC 1813) have in common: statuses, handles, attributes. */
#ifndef LIB_SOURCE_NFS_NFS_ATTR_H
#define LIB_SOURCE_NFS_NFS_ATTR_H

#include <stdatomic.h>

#include "lib/config/nfs_url.h"
#include "lib/source/nfs/nfs_systems.h"
#include "lib/source/nfs/nfs_xdr.h"
#include "lib/source/source.h"

#define NFS3_FHSIZE 64
#define NFS4_FHSIZE MIGRATE_HANDLE_MAX

struct nfs_handle {
	uint8_t len; /* 0: none */
	uint8_t bytes[NFS4_FHSIZE];
};

#define NFS4_MASK_WORDS 3 /* of the bitmaps of attributes that are sent */

/* What decoding needs to know of the server. */
struct nfs_view {
	struct nfs_handle root;
	_Atomic(uint64_t) root_fs;   /* the root's fsid, as far as is known */
	struct nfs_systems *systems; /* NULL: every fsid that an answer shows is believed at once */
	bool vague_handles;  /* two handles may be one object's (RFC 8881, section 10.3.4) */
	atomic_bool no_plus; /* READDIRPLUS does not work here */
	/* Of version 4 from here on. */
	bool v4; /* all is version 4.minor; else version 3 */
	uint32_t minor;
	const char *url;      /* for messages */
	const char *path;     /* of the root, below the server's own */
	uint32_t max_read;    /* bytes */
	uint32_t max_entries; /* bytes of READDIR's reply */
	uint32_t max_ops;     /* operations of a call; 0: NFS4_OPS_MIN */
	uint32_t lease;	      /* seconds */
	/* Attributes that are asked for: what is wanted and the server has. */
	uint32_t attrs[NFS4_MASK_WORDS];
	struct nfs4_owners *owners;
	struct nfs4_holes *holes; /* NULL: holes are not asked for */
	atomic_bool seeks_opened; /* SEEK works only in files that are open */
	atomic_bool no_seek;	  /* SEEK is not used any more */
	atomic_bool opens;	  /* without an OPEN nothing can be read here */
	atomic_bool referred;	  /* the log was told that there are objects on other servers */
	enum nfs_sec sec;	  /* in use */
	_Atomic(const char *)
		wants; /* nfs4_get_secinfo(), of the first object that wants another */
};

/* 0 or the negative status for an nfsstat3. */
int nfs_status(uint32_t status);
/* Pieces for the calls made at open.  FALSE: not acceptable. */
bool nfs_get_handle(struct xdr_in *in, struct nfs_handle *handle);
bool nfs_get_attr(struct xdr_in *in, uint64_t *fs, struct source_attr *attr);
/* The fileid, unique in the whole source, of the object with that number on that file system. */
uint64_t nfs_fileid(const struct nfs_view *view, uint64_t number, uint64_t fs);
/* Notes the root's fsid if the request is about the root. */
void nfs_root_seen(struct nfs_view *view, const struct backend_request *req, uint64_t fs);
/* What the handle tells of the object's identity: source_attr.object. */
uint64_t nfs_object(const struct nfs_view *view, const uint8_t *handle, uint32_t len);
/* Attributes that may be absent.  FALSE: they are, or they are not acceptable. */
bool nfs_get_post_attr(const struct nfs_view *view, struct xdr_in *in, struct source_attr *attr);
/* The same for the object that the request is about: fills in req->attr and req->has_attr. */
bool nfs_get_own_attr(struct nfs_view *view, struct xdr_in *in, struct backend_request *req);

#endif
