/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks an old server's MOUNT (RFC 1813, appendix I) about its directories, and about the clients
 * that have mounted them. */
#ifndef CTL_DISCOVER_MOUNTS_H
#define CTL_DISCOVER_MOUNTS_H

#include "ctl/discover/inquiry.h"

#define MOUNTS_MAX	  65536
#define MOUNTS_HANDLE_MAX 64 /* bytes of an NFSv3 handle */

/* Both are as the old server gave them, of any bytes except NUL. */
struct mounts_client {
	char *host, *path;
};

struct mounts_handle {
	char *path;
	guint8 handle[MOUNTS_HANDLE_MAX];
	guint len;	      /* 0: there is none, and why says why */
	guint64 fileid, fsid; /* RFC 1813, section 2.3.5 */
	char *why;	      /* one line */
};

/* The server that is asked, and its ports; 0: as the portmapper tells. */
struct mounts_server {
	struct inquiry how;
	unsigned mount_port, nfs_port;
};

/* The server of a volume's source, which must be one of NFS version 3; host, path (without a slash
 * at its end): g_free.  FALSE with error set, one line. */
gboolean mounts_server_of(const char *source, struct mounts_server *server, char **host,
			  char **path, GError **error);

/*
 * Asks who has mounted what, as far as the old server remembers: adds struct mounts_client to
 * clients, MOUNTS_MAX at most; and what the server exports: adds paths to exports, unless that is
 * NULL.  FALSE with error set, one line; what was heard before it counts.  Blocks.
 */
gboolean mounts_inquire(const struct mounts_server *server, GPtrArray *clients, GPtrArray *exports,
			GError **error);
/* Asks for the handle of each path: adds struct mounts_handle to handles, in the order of paths.
 * Results as of mounts_inquire(). */
gboolean mounts_ask_handles(const struct mounts_server *server, const GPtrArray *paths,
			    GPtrArray *handles, GError **error);

void mounts_client_free(gpointer client);
void mounts_handle_free(gpointer handle);

#endif
