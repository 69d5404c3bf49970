/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the password or the tickets for a log-on to the old SMB server, out of the files that the
 * configuration names. */
#ifndef LIB_SOURCE_SMB_SMB_SECRET_H
#define LIB_SOURCE_SMB_SMB_SECRET_H

#include "lib/config/smb_url.h"
#include "lib/source/source.h"

struct smb_secret {
	char *password;	 /* "" with a ccache */
	uint8_t *ccache; /* NULL: none */
	size_t ccache_len;
};

/* FALSE with error set: one line with the remedy.  Files that others could have written or read are
 * refused, and so are tickets that cannot be used.  smb_secret_clear() wipes. */
gboolean smb_secret_get(const struct smb_config *config, const struct smb_url *url,
			struct smb_secret *secret, GError **error);
void smb_secret_clear(struct smb_secret *secret);
/* The domain to log on to: the URL's, that of smb-domain, or "" for the server's own. */
const char *smb_domain(const struct smb_config *config, const struct smb_url *url);

#endif
