/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says what is wrong with a Kerberos ticket cache of the type FILE, version 4 ("Credential cache
 * file format" in MIT's documentation).  The worker uses the cache; here it is only checked. */
#ifndef LIB_SOURCE_SMB_SMB_CCACHE_H
#define LIB_SOURCE_SMB_SMB_CCACHE_H

#include <glib.h>
#include <stdint.h>

/* NULL: the cache has a ticket of the user's that is valid now (seconds since 1970); else what is
 * wrong and what to do. */
char *smb_ccache_objection(const uint8_t *data, size_t len, const char *user, gint64 now);

#endif
