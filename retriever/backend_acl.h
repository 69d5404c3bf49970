/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX access control lists (IEEE 1003.1e draft 17, section 23) as the kernel takes them: an
 * extended attribute in the format of linux/posix_acl_xattr.h, version 2.  Memory only.
 */
#ifndef BACKEND_ACL_H
#define BACKEND_ACL_H

#include "backend_private.h"

#define ACL_ACCESS_NAME	 "system.posix_acl_access"
#define ACL_DEFAULT_NAME "system.posix_acl_default"

/* The tags of linux/posix_acl.h, which are those of the NFSACL protocol, too. */
enum acl_tag {
	ACL_TAG_USER_OBJ = 1,
	ACL_TAG_USER = 2,
	ACL_TAG_GROUP_OBJ = 4,
	ACL_TAG_GROUP = 8,
	ACL_TAG_MASK = 16,
	ACL_TAG_OTHER = 32,
};

struct acl_entry {
	uint32_t tag, perm, id; /* id: of a named user or group */
};

/*
 * Adds that ACL in canonical order (entries are sorted in place), unless it says nothing: an empty
 * one, or an access ACL that says no more than a mode.  One that no file can have (entries missing,
 * twice, or unknown) goes to xattrs->lost.
 */
void acl_add(struct source_xattrs *xattrs, bool is_default, struct acl_entry *entries, size_t n);
/* The same for one in the kernel's format. */
void acl_add_value(struct source_xattrs *xattrs, bool is_default, const uint8_t *value, size_t len);

#endif
