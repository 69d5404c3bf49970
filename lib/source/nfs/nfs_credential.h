/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Kerberos credential of this host for an old server: tickets got, and got anew, by the keys of
 * a keytab, or a ticket cache that another program renews.  The file is read each time a context is
 * made.  Any thread.
 */
#ifndef LIB_SOURCE_NFS_NFS_CREDENTIAL_H
#define LIB_SOURCE_NFS_NFS_CREDENTIAL_H

#include <glib.h>
#include <gssapi/gssapi.h>
#include <pthread.h>

#include "lib/config/nfs_url.h"
#include "lib/source/source.h"

struct nfs_credential {
	const char *host;		   /* the ticket is for this server's key */
	char *keytab, *ccache, *principal; /* as in struct nfs_config */
	char *memory;			   /* name of the cache for the keytab's tickets */
	pthread_mutex_t lock;		   /* held while a context is begun: one at a time */
};

/* url must outlive it; config may be NULL. */
void nfs_credential_init(struct nfs_credential *credential, const struct nfs_url *url,
			 const struct nfs_config *config);
/* *credential may be all zeros. */
void nfs_credential_clear(struct nfs_credential *credential);

/*
 * Lock held.  May ask a KDC and wait for it, some 20 s if the KDC is away.  The caller releases the
 * credential with gss_release_cred().  GSS_C_NO_CREDENTIAL: *why says in words why there is none;
 * g_free.
 */
gss_cred_id_t nfs_credential_get(struct nfs_credential *credential, char **why);
/* Lock held.  The keytab's tickets are not used again: the server may have other keys now. */
void nfs_credential_forget(struct nfs_credential *credential);
/* Whether the error is about an old ticket that could not be got anew; it does not say why not. */
bool nfs_credential_is_old(const struct nfs_credential *credential, OM_uint32 minor);
/* The error in words, with the remedy: what the library says, or (minor 0) the server.  g_free. */
char *nfs_credential_explain(const struct nfs_credential *credential, OM_uint32 major,
			     OM_uint32 minor);

#endif
