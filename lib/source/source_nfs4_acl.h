/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An NFSv4 ACL (RFC 8881 section 6.2.1) as it came from the old server, with this host's ids. */
#ifndef LIB_SOURCE_SOURCE_NFS4_ACL_H
#define LIB_SOURCE_SOURCE_NFS4_ACL_H

#include <glib.h>
#include <stdint.h>

enum ace4_type { ACE4_ALLOW, ACE4_DENY, ACE4_AUDIT, ACE4_ALARM };

enum ace4_flag {
	ACE4_FILE_INHERIT = 0x1,
	ACE4_DIRECTORY_INHERIT = 0x2,
	ACE4_NO_PROPAGATE = 0x4,
	ACE4_INHERIT_ONLY = 0x8,
	ACE4_IDENTIFIER_GROUP = 0x40,
	ACE4_INHERITED = 0x80,
};

enum ace4_mask {
	ACE4_READ_DATA = 0x1,
	ACE4_WRITE_DATA = 0x2,
	ACE4_APPEND_DATA = 0x4,
	ACE4_READ_NAMED_ATTRS = 0x8,
	ACE4_WRITE_NAMED_ATTRS = 0x10,
	ACE4_EXECUTE = 0x20,
	ACE4_DELETE_CHILD = 0x40,
	ACE4_READ_ATTRIBUTES = 0x80,
	ACE4_WRITE_ATTRIBUTES = 0x100,
	ACE4_DELETE = 0x10000,
	ACE4_READ_ACL = 0x20000,
	ACE4_WRITE_ACL = 0x40000,
	ACE4_WRITE_OWNER = 0x80000,
	ACE4_SYNCHRONIZE = 0x100000,
};

enum ace4_who {
	ACE4_WHO_OWNER,
	ACE4_WHO_GROUP,
	ACE4_WHO_EVERYONE,
	ACE4_WHO_USER_ID,
	ACE4_WHO_GROUP_ID,
	ACE4_WHO_UNKNOWN, /* nobody here, or INTERACTIVE@ and the like: it may be anybody */
};

#define NFS4_ACES_MAX 1024 /* of one ACL */

struct source_ace4 {
	uint32_t type, flags, mask;
	enum ace4_who who;
	uint32_t id; /* of the old server, for ..._ID */
};

struct source_nfs4_acl {
	GArray *aces;  /* of struct source_ace4, 1..NFS4_ACES_MAX */
	GString *text; /* as nfs4_setfacl(1) takes it, entries with "," between them */
};

struct source_nfs4_acl *source_nfs4_acl_new(void);
void source_nfs4_acl_free(struct source_nfs4_acl *acl);
/* Appends; who: its name, as it is shown. */
void source_nfs4_acl_add(struct source_nfs4_acl *acl, const struct source_ace4 *ace,
			 const char *who);

#endif
