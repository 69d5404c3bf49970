/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who this host is to an old server with Kerberos: by the keys of a keytab, from which tickets are
 * got and got anew, or by a ticket cache that somebody else renews.  Both are looked at each time a
 * context is made.  Any thread.
 */
#ifndef LIB_SOURCE_NFS_NFS_CREDENTIAL_H
#define LIB_SOURCE_NFS_NFS_CREDENTIAL_H

#include <glib.h>
#include <gssapi/gssapi.h>
#include <pthread.h>

#include "lib/config/nfs_url.h"
#include "lib/source/source.h"

struct nfs_credential {
	const char *host;		   /* whose key the ticket is for */
	char *keytab, *ccache, *principal; /* as in struct nfs_config */
	char *memory;			   /* name of the cache for the keytab's tickets */
	pthread_mutex_t lock; /* held while contexts are begun: by one after the other */
};

/* url must outlive it; config may be NULL. */
void nfs_credential_init(struct nfs_credential *credential, const struct nfs_url *url,
			 const struct nfs_config *config);
/* Also when it is all zeros. */
void nfs_credential_clear(struct nfs_credential *credential);

/*
 * Lock held.  May ask a KDC and wait for it, some 20 s if it is away.  The caller releases it with
 * gss_release_cred(); GSS_C_NO_CREDENTIAL: *why says so in words.  g_free.
 */
gss_cred_id_t nfs_credential_get(struct nfs_credential *credential, char **why);
/* Lock held.  The keytab's tickets are not taken once more: the server may have other keys now. */
void nfs_credential_forget(struct nfs_credential *credential);
/* Whether that is said of a ticket which could not be got anew: not why it could not. */
bool nfs_credential_is_old(const struct nfs_credential *credential, OM_uint32 minor);
/* In words, with what to do, what the library or (no minor) the server says.  g_free. */
char *nfs_credential_explain(const struct nfs_credential *credential, OM_uint32 major,
			     OM_uint32 minor);

#endif
