/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings by which an old server is reached. */
#ifndef LIB_CONFIG_SOURCE_CONFIG_H
#define LIB_CONFIG_SOURCE_CONFIG_H

#include <stdbool.h>

enum smb_choice { SMB_OFF, SMB_DESIRED, SMB_REQUIRED };

/* Of smb:// sources. */
struct smb_config {
	char *password_file, *ccache; /* one of them is NULL */
	char *domain;		      /* NULL: the URL's, or the server's own */
	unsigned encryption, signing; /* enum smb_choice */
};

/* Of nfs:// sources with Kerberos or TLS. */
struct nfs_config {
	char *keytab, *ccache; /* at most one; neither: /etc/krb5.keytab */
	char *principal;       /* NULL: the keytab's first one, the ticket cache's own */
	char *ca;	       /* file of the CAs of the server's certificate; NULL: the system's */
	char *certificate, *key; /* this host's own; both or neither */
	bool elsewhere; /* the server's address must not be this machine's: one of its other
			   addresses moves here */
};

/* All of them, from the configuration's [volume NAME] group. */
struct backend_config {
	const char *url; /* nfs://host[:port]/path, smb://user@host/share, file:///path */
	const struct smb_config *smb; /* NULL: not configured */
	const struct nfs_config *nfs; /* NULL: not configured */
	unsigned connections;	      /* background connections, 1..16 */
	unsigned demand_connections;  /* 1..8 */
	unsigned window;	      /* requests in flight per connection, 0: by round-trip time */
};

#endif
