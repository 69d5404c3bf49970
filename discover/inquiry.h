/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef DISCOVER_INQUIRY_H
#define DISCOVER_INQUIRY_H

#include "found.h"

struct inquiry {
	const char *program;  /* the one that asks, see ask.h */
	const char *host;     /* a name or an address, an IPv6 one without brackets */
	unsigned wait;	      /* s, for each answer */
	const char *user;     /* of SMB: [DOMAIN\]USER, or NULL: nobody in particular */
	const char *password; /* with user */
};

/*
 * Asks the host for all that found.h has, and adds it; what it did not tell is a note each.  FALSE
 * with error set, one line: it has no address, or neither NFS nor SMB was spoken with.  Blocks.
 */
gboolean inquire(const struct inquiry *how, struct found *found, GError **error);
/* The name of a security flavour: "sys", "krb5i", or its number.  g_free. */
char *inquiry_flavour(const char *number);

#endif
