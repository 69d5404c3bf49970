/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An old NFS server: what the files of this folder know of it. */
#ifndef LIB_SOURCE_NFS_NFS_SERVER_H
#define LIB_SOURCE_NFS_NFS_SERVER_H

#include <sys/socket.h>

#include "lib/config/nfs_url.h"
#include "lib/source/backend.h"
#include "lib/source/nfs/nfs_attr.h"
#include "lib/source/nfs/nfs_complaint.h"
#include "lib/source/nfs/nfs_credential.h"
#include "lib/source/nfs/nfs_rpc.h"
#include "lib/source/nfs/nfs_tls.h"
#include "lib/source/suspects.h"

struct nfs_address {
	struct sockaddr_storage addr;
	socklen_t len;
};

#define NFS_STALL_MS 60000

/* Where one of the server's programs is. */
struct nfs_service {
	atomic_uint port;
	uint32_t program, version;
	bool fixed;		/* the URL names the port */
	struct nfs_conn *trial; /* tries requests that ended connections (suspects.h) */
	enum backend_op probe;	/* asked of the root on a new connection (version 3) */
};

struct nfs_server {
	struct nfs_url url;
	struct nfs_credential credential; /* where sec= wants one */
	struct nfs_tls tls;		  /* where xprtsec= wants it */
	struct nfs_complaint complaint;
	struct rpc_auth auth;	       /* AUTH_SYS */
	bool elsewhere;		       /* as in struct nfs_config */
	struct nfs_address *addresses; /* what the host's name resolved to at open */
	size_t n_addresses;
	atomic_size_t address; /* the one that answered last */
	struct nfs_service nfs;
	struct nfs_service acl;
	bool acl_apart;	       /* ACLs are asked for on connections of their own */
	const char *no_acl;    /* why ACLs are not asked for; NULL: they are */
	struct nfs_service v4; /* for user extended attributes */
	const char *no_xattrs; /* the same for extended attributes */
	struct nfs_view view;
	uint32_t max_read;    /* bytes */
	unsigned window;      /* configured, 0: automatic */
	atomic_uint stall_ms; /* a request without an answer for so long is made again */
	struct backend_watch watch;
	struct suspects suspects;
};

/* For struct nfs_call; NULL: in the clear. */
static inline const struct nfs_tls *nfs_server_tls(const struct nfs_server *server)
{
	return server->url.xprtsec == NFS_XPRTSEC_NONE ? NULL : &server->tls;
}

/* nfs_mount.c: what happens when a source is opened. */

/*
 * Resolves the host's name, finds the ports, mounts, and fills in the server's root, the root's
 * attributes, max_read, and whether the server has ACLs and extended attributes.  config may be
 * NULL.  Blocks up to 30 s.
 */
gboolean nfs_server_open(struct nfs_server *server, const struct nfs_config *config,
			 struct source_attr *root, GError **error);
void nfs_server_clear(struct nfs_server *server);
/* As `writable` of struct backend_ops, by ACCESS, which changes nothing there. */
int nfs_server_writable(struct nfs_server *server);

#endif
