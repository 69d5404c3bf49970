/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Security descriptors (MS-DTYP 2.4.6), as an SMB server sends them, and as Samba's acl_xattr keeps
 * them: the extended attribute security.NTACL, version 1, which is taken as it stands whatever the
 * mode and the POSIX ACL say.  Its bytes: u16 1, u32 1 at 2 (aligned as NDR has it: 01 00 01 00 00
 * 00 02 00), then the self-relative descriptor, whose offsets count from byte 8 back.
 *
 * The descriptor comes from the old server: every offset, length and count is checked before use,
 * and only what was understood is written again.  Kept to the bit: owner, group, the control flags,
 * the order, flags and masks of all entries, what stands behind an entry's SID, entries that are
 * for something else than access.
 *
 * What Samba could not read makes it refuse the object or, worse, fall back on the mode.  So a
 * descriptor that Samba would not take, or that is longer than an extended attribute may be, is not
 * written; nt_closed() is the one to take its place.
 */
#ifndef LIB_ACL_NT_ACL_H
#define LIB_ACL_NT_ACL_H

#include "lib/config/sids.h"

#define XATTR_NTACL "security.NTACL"

enum nt_control { NT_DACL_PRESENT = 0x0004, NT_SACL_PRESENT = 0x0010, NT_DACL_PROTECTED = 0x1000 };

enum nt_ace_type {
	NT_ALLOW = 0,
	NT_DENY = 1,
	NT_COMPOUND = 4,
	NT_ALLOW_OBJECT = 5,
	NT_DENY_OBJECT = 6,
	NT_ALLOW_IF = 9, /* with a condition ("callback") */
	NT_DENY_IF = 10,
	NT_ALLOW_OBJECT_IF = 11,
	NT_DENY_OBJECT_IF = 12,
};

enum { NT_INHERIT_ONLY = 0x08 };

struct nt_ace {
	uint8_t type, flags;
	uint32_t mask;
	struct sid sid;
	/* what stands between the mask and the SID, and behind it; in the descriptor's memory */
	const uint8_t *between, *behind;
	uint16_t between_len, behind_len;
};

struct nt_acl {
	bool present; /* there is a list; a present DACL without one allows everything */
	uint8_t revision;
	GArray *aces; /* of struct nt_ace */
};

struct nt_descriptor {
	uint16_t control;
	uint8_t manager; /* Sbz1: of the resource manager, if the control flags say so */
	struct sid owner, group;
	struct nt_acl dacl, sacl;
};

/* NULL with *why, a phrase.  Points into bytes. */
struct nt_descriptor *nt_decode(const uint8_t *bytes, uint32_t len, const char **why);
void nt_free(struct nt_descriptor *sd);

/* Owner, group and the entries' SIDs become the map's. */
void nt_map(struct nt_descriptor *sd, const struct sid_map *map);

/* SIDs that are numbers of the old server (S-1-22-1-UID, S-1-22-2-GID) become those of this host,
 * as sid-users and sid-groups say, or back. */
struct nt_numbers {
	const struct sid_map *users, *groups; /* or NULL */
	bool back;
};
void nt_renumber(struct nt_descriptor *sd, const struct nt_numbers *numbers);

/*
 * Samba's file server does not look at entries with conditions (4.17 and 4.22 do not).  One that
 * denies would be no bar any more, so it is made to deny always; one that allows is left and allows
 * nothing.  Both counted.
 */
void nt_make_safe(struct nt_descriptor *sd, unsigned *allow, unsigned *deny);

/* The value of security.NTACL; g_free.  NULL with *why: Samba would not take it. */
uint8_t *nt_encode(const struct nt_descriptor *sd, uint32_t *len, const char **why);

/* Whether the value is of those: a Samba that sets one writes another version. */
bool nt_is_brought(const uint8_t *value, uint32_t len);

/*
 * The descriptor that replaces one that cannot be carried: it grants the owner the right to read
 * and write the descriptor and to take ownership, and nobody anything else.  owner, group: may be
 * empty.
 */
uint8_t *nt_closed(const struct sid *owner, const struct sid *group, uint32_t *len);

#endif
