/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an SMB server said of an object (source_windows.h) becomes what a Samba on this host reads:
 *
 *   security.NTACL               the security descriptor, for vfs_acl_xattr (nt_acl.h)
 *   user.DOSATTRIB               attributes and time of creation, version 5 (Samba's
 *                                xattr.idl): 00 00, u16 5, u16 5, 00 00, u32 which are valid,
 *                                u32 attributes, u64 FILETIME
 *   user.DosStream.NAME:$DATA    an alternate data stream and one NUL byte, for vfs_streams_xattr
 *                                with its default settings
 *
 * and an owner, a group and permission bits.  Nothing here looks at a file; any thread.
 *
 * The kernel checks the permission bits on behalf of the user, whatever the descriptor says and
 * Samba is set to: what a client may do is what both allow.  So there are two ways (`smb-modes`).
 * OPEN: they allow everybody everything, and the descriptor alone decides, as on the old server;
 * then nobody may reach the tree but through Samba.  DESCRIPTOR: they say what nt_mode.h says; no
 * local user and no NFS client has more by them than by the descriptor, and SMB clients have less.
 */
#ifndef LIB_ACL_SMB_DESCRIPTOR_H
#define LIB_ACL_SMB_DESCRIPTOR_H

#include <sys/stat.h>

#include "lib/config/sids.h"
#include "lib/config/volume_config.h"
#include "lib/source/source.h"

#define XATTR_DOSATTRIB	    "user.DOSATTRIB"
#define XATTR_STREAM_PREFIX "user.DosStream."
#define XATTR_STREAM_SUFFIX ":$DATA"

struct windows_map {
	const struct sid_map *sids, *users, *groups; /* NULL: see sids.h */
	uint32_t uid, gid;			     /* of SIDs that are nobody here */
	enum smb_modes modes;
};

struct windows {
	uint8_t *acl; /* of security.NTACL; NULL: cannot be carried, for the reason why */
	uint32_t acl_len;
	const char *why;
	uint8_t *closed; /* the one for its place */
	uint32_t closed_len;
	uint32_t uid, gid;
	mode_t perms, closed_perms;
	/* list: user.DOSATTRIB first; lost: what of the object cannot be carried */
	struct source_xattrs *xattrs;
	char *lost_owner, *lost_group; /* the SID that is nobody here, or NULL */
	char *bound_owner; /* the SID of an owner who must not own it here, or NULL: nt_mode.h */
	bool less;	   /* the bits say less than the descriptor */
	GPtrArray *lost_streams;  /* char * */
	bool no_sacl, no_streams; /* the server did not show them */
};

/*
 * Whether a user.DOSATTRIB says what another one does that was made later, of an object of that
 * mtime (ns) there.  Samba says of what nobody gave a time of creation through it that it is the
 * oldest of its other times: mtime, once reading has moved an older one.
 */
bool windows_attributes_are(const void *value, const void *later, size_t len, int64_t mtime);

struct windows *smb_descriptor_new(const struct source_windows *source, bool directory,
				   const struct windows_map *map);
void smb_descriptor_free(struct windows *windows);

#endif
