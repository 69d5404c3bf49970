/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An NFSv4 ACL as a security descriptor, entry by entry: types, rights and inheritance are the same
 * in both (RFC 8881 section 6.2.1; MS-DTYP 2.4.4.1).  Users and groups are named by the SIDs that
 * Samba has for ids, S-1-22-1-UID and S-1-22-2-GID.  An entry for OWNER@ or GROUP@ that is
 * inherited becomes two: for who that is now, and for CREATOR OWNER or CREATOR GROUP.  A principal
 * that is unknown here could be any user: an entry that denies it denies everybody, and one that
 * allows it is left out.  The same holds for OWNER@ and GROUP@ where the owner or the group is
 * unknown here; the descriptor's owner is S-1-0-0 then, as an owner may change the descriptor.
 *
 * Two things go with a right that NFS clients do not ask for and SMB clients do: who may do
 * something may wait for it (SYNCHRONIZE), and who may read or write data may do so with extended
 * attributes, as on this host.  Who is denied the one is denied the other.
 */
#ifndef LIB_ACL_NFS4_NT_H
#define LIB_ACL_NFS4_NT_H

#include "lib/acl/nt_acl.h"
#include "lib/source/source.h"

/* Of ids: from the old server's to this host's. */
typedef uint32_t (*nfs4_nt_map)(void *arg, bool group, uint32_t id);

/* The value of security.NTACL; g_free.  uid, gid: of this host, or OWNER_NONE.  NULL with *why, as
 * nt_encode(). */
uint8_t *nfs4_nt_encode(const struct source_nfs4_acl *acl, uint32_t uid, uint32_t gid,
			nfs4_nt_map map, void *arg, uint32_t *len, const char **why);

#endif
