/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An NFSv4 ACL as POSIX ACLs that never grant more (RFC 8881 section 6; acl(5)).
 *
 * The first NFSv4 entry that is for somebody and names a right decides about it.  A POSIX entry is
 * for a class of users: the owner, one user, the members of one group, or everybody else.  A class
 * has a right only if each of its members had it, whatever other groups he is in: an entry that
 * denies counts if it may be for one of them, one that allows if it is surely for all of them.
 *
 * - r: read data or list.  x: execute or traverse.
 * - w: write and append data, or add files and directories, and there delete what is in it; where
 *   nothing is said of that, the right to add brings it with it (section 6.2.1.3.2).
 * - A principal that is unknown here could be any user, so a deny entry for it denies everybody.
 * The same holds for an owner or a group that is unknown here.
 * - What is inherited becomes a default ACL.  It is for files and directories at any depth, so an
 *   entry grants by it only if it is inherited by all of these.  Where others are inherited too,
 * the owner of what is new has all in it: he could give it to himself.
 *
 * Of rights that a POSIX ACL has not, it gives everybody to read attributes and ACLs, the owner to
 * write them, and who may write a directory to delete what is in it.  Where the NFSv4 ACL denies
 * one of these, that is a loss, as what it grants of the others.
 */
#ifndef LIB_ACL_NFS4_POSIX_H
#define LIB_ACL_NFS4_POSIX_H

#include "lib/source/posix_acl.h"
#include "lib/source/source.h"

/* Where acl-mode = keep puts the ACL as text, for nfs4_setfacl(1). */
#define XATTR_NFS4_KEPT "trusted.quickmigrate.nfs4_acl"

struct nfs4_posix {
	struct acl *access, *inherited; /* inherited NULL: none */
	GString *lost;			/* what they do not say, phrases; "": nothing */
};

/* attr: of the old server, with its ids, as the ACL. */
void nfs4_posix_init(struct nfs4_posix *posix, const struct source_nfs4_acl *acl,
		     const struct source_attr *attr);
void nfs4_posix_clear(struct nfs4_posix *posix);

#endif
