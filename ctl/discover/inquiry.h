/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks an old server what it exports and shares.  Processes of their own ask (ask.h). */
#ifndef CTL_DISCOVER_INQUIRY_H
#define CTL_DISCOVER_INQUIRY_H

#include "ctl/discover/inventory.h"

struct inquiry {
	const char *program;  /* the one that asks, see ask.h */
	const char *host;     /* a name or an address, an IPv6 one without brackets */
	unsigned wait;	      /* s, for each answer */
	const char *user;     /* of SMB: [DOMAIN\]USER, or NULL: nobody in particular */
	const char *password; /* with user */
};

/*
 * Asks an old server (how->host) for everything that inventory.h has, and adds it to found; what
 * the server did not tell is a note each.  FALSE with error set, one line: the host has no address,
 * or spoke neither NFS nor SMB.  Blocks.
 */
gboolean inquire(const struct inquiry *how, struct inventory *found, GError **error);

/* The port of a service by TCP, as the portmapper tells it; 0: there is none, or with *why set (one
 * line, g_free) it could not be asked.  Blocks. */
unsigned inquiry_port(const struct inquiry *how, const char *address, uint32_t program,
		      uint32_t version, char **why);

/* The quota of one user or group there; bytes and files, 0: no limit. */
struct inquiry_quota {
	uint32_t id;
	uint64_t hard, soft, files_hard, files_soft;
};

/*
 * Asks rquotad of the host for the quotas of these users, or groups, for an exported path, and adds
 * those that have one to `quotas` (of struct inquiry_quota).  FALSE with error set, one line.
 * Blocks.
 */
gboolean inquire_quotas(const struct inquiry *how, const char *path, bool groups, const GArray *ids,
			GArray *quotas, GError **error);
/* The name of a security flavour: "sys", "krb5i", or its number.  g_free. */
char *inquiry_flavour(const char *number);

#endif
