/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RPC with TLS (RFC 9289), by GnuTLS: TLS 1.3, with the server's certificate checked. */
#ifndef LIB_SOURCE_NFS_NFS_TLS_H
#define LIB_SOURCE_NFS_NFS_TLS_H

#include "lib/config/nfs_url.h"
#include "lib/source/nfs/nfs_link.h"
#include "lib/source/source.h"

struct nfs_tls {
	bool mutual;	  /* this host shows a certificate, too */
	const char *host; /* name or address that the server's certificate has to have */
	char *ca, *certificate, *key; /* as in struct nfs_config */
};

/* url must outlive it; config may be NULL. */
void nfs_tls_init(struct nfs_tls *tls, const struct nfs_url *url, const struct nfs_config *config);
void nfs_tls_clear(struct nfs_tls *tls);

/*
 * Makes the TLS handshake on a connection whose server said that TLS can begin.  Reads the files of
 * keys and certificates anew each time.  Waits as nfs_link_wait().  0; -EKEYREJECTED, and *why in
 * words, g_free; or -errno.
 */
int nfs_tls_begin(const struct nfs_tls *tls, struct nfs_link *link, gint64 deadline, int cancel_fd,
		  char **why);

/* Why the server ended TLS, in words: it may refuse this host's certificate after the handshake.
 * g_free.
 */
char *nfs_tls_ended(const struct nfs_tls *tls, const struct nfs_link *link);

#endif
