/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Kerberos ticket cache of the type FILE, version 4, as MIT's documentation of it has it
 * ("Credential cache file format").  The worker uses it; here it is looked at to say what is wrong
 * with it. */
#ifndef LIB_SOURCE_SMB_SMB_CCACHE_H
#define LIB_SOURCE_SMB_SMB_CCACHE_H

#include <glib.h>
#include <stdint.h>

/* NULL: it has a ticket of user's that is good now (seconds since 1970); else what is wrong and
 * what to do. */
char *smb_ccache_objection(const uint8_t *data, size_t len, const char *user, gint64 now);

#endif
