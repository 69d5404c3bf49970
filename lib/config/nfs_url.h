/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_CONFIG_NFS_URL_H
#define LIB_CONFIG_NFS_URL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The security flavours of RFC 7530 section 3.2.1.  The numbers are those of RPCSEC_GSS's services
 * (RFC 2203 section 5.2.2). */
enum nfs_sec { NFS_SEC_SYS, NFS_SEC_KRB5, NFS_SEC_KRB5I, NFS_SEC_KRB5P };
/* The security of the transport (RFC 9289), with the names of Linux's client (nfs(5)). */
enum nfs_xprtsec { NFS_XPRTSEC_NONE, NFS_XPRTSEC_TLS, NFS_XPRTSEC_MTLS };

/* nfs://host[:port]/path[?mountport=N&nfsport=N&aclport=N&version=V&sec=S&xprtsec=X&uid=N&gid=N],
 * V: 3, 4, 4.0, 4.1, 4.2; S: sys, krb5, krb5i, krb5p; X: none, tls, mtls */
#define NFS4_MINORS 7u /* all minor versions that are supported, as bits */

struct nfs_url {
	char *text;				 /* as it was given, for messages */
	char *host;				 /* IPv6 without brackets */
	char *path;				 /* absolute */
	uint16_t nfs_port, mount_port, acl_port; /* 0: ask rpcbind */
	bool no_acl;				 /* aclport=0: ACLs are not wanted */
	bool only_v3;				 /* version=3: no other version is used */
	unsigned minors;   /* version=4...: bit N for version 4.N, and no other version is used */
	uint32_t uid, gid; /* of AUTH_SYS */
	enum nfs_sec sec;
	enum nfs_xprtsec xprtsec;
};
gboolean nfs_url_parse(const char *text, struct nfs_url *url, GError **error);
void nfs_url_clear(struct nfs_url *url);

#endif
