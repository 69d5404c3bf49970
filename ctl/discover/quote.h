/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quotes texts from an old server so that they may stand in a configuration; NULL or "" is what may
 * not.  All results are g_free()d. */
#ifndef CTL_DISCOVER_QUOTE_H
#define CTL_DISCOVER_QUOTE_H

#include <stdbool.h>

/* A volume's name made from the last part of a path, or from a share: 1 to 48 characters. */
char *quote_name(const char *path);
/* nfs://host/path and smb://user@host/share as the configuration accepts them, or NULL.  sec: the
 * security that the export takes, as in inventory.h; it is written if that is Kerberos alone. */
char *quote_nfs_url(const char *host, const char *path, const char *sec);
char *quote_smb_url(const char *user, const char *host, const char *share);
/* A path in ganesha.conf, with quotation marks, or NULL. */
char *quote_ganesha_path(const char *path);
/* The clients of a CLIENT block: an address, ADDRESS/LENGTH, a name, a pattern, @netgroup, or NULL.
 * Whether names have addresses is not checked. */
char *quote_client(const char *clients);
/* "krb5, sys" with what Ganesha does not know left out, or NULL. */
char *quote_sec(const char *sec);
/* Whether name can be a section's name in smb.conf. */
bool quote_is_share(const char *name);
/* Whether value can stand behind "key = " in smb.conf.  macros: %x may stand in it. */
bool quote_is_value(const char *value, bool macros);

#endif
