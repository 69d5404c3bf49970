/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Owners and groups as version 4 says them (RFC 8881 section 5.9): "1000", or "user@domain", which
 * this host's idmapping knows (idmapd.conf(5), by libnfsidmap).  Who it does not know is
 * NFS4_NOBODY, which source.h's users report and give to nobody; a line names each of them once.
 */
#ifndef NFS4_OWNER_H
#define NFS4_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#define NFS4_NOBODY UINT32_MAX

/* Asks somebody for a text with "@", NUL-terminated: 0 and *id, or another value. */
typedef int (*nfs4_owner_fn)(bool group, char *text, uint32_t *id);

struct nfs4_owners;
/* url: for the lines, kept; ask NULL: the host's idmapping. */
struct nfs4_owners *nfs4_owners_new(const char *url, nfs4_owner_fn ask);
void nfs4_owners_free(struct nfs4_owners *owners);
/* Any thread.  Blocks on the first of each text, as long as the host's name service does. */
uint32_t nfs4_owners_id(struct nfs4_owners *owners, bool group, const uint8_t *text, uint32_t len);

#endif
