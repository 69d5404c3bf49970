/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POSIX ACLs in the encoding of the extended attributes system.posix_acl_access and
 * system.posix_acl_default (linux/posix_acl_xattr.h, version 2: a header of 4 bytes, entries of 8,
 * little-endian; the meaning is that of acl(5)).  They come from the old server and are checked
 * before anything is read off them.
 */
#ifndef LIB_SOURCE_POSIX_ACL_H
#define LIB_SOURCE_POSIX_ACL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define XATTR_ACL_ACCESS  "system.posix_acl_access"
#define XATTR_ACL_DEFAULT "system.posix_acl_default"

struct acl_entry {
	uint16_t tag, perm;
	uint32_t id;
};

struct acl {
	GArray *entries; /* of struct acl_entry, in the order that the kernel wants */
};

/* NULL: not a list that acl(5) allows. */
struct acl *acl_decode(const uint8_t *value, uint32_t len);
void acl_free(struct acl *acl);

/* Ids of named users and groups become map's, and the entries are brought back into their order.
 * FALSE: two of them now name the same one. */
bool acl_map(struct acl *acl, uint32_t (*map)(void *arg, bool group, uint32_t id), void *arg);

/* g_free. */
uint8_t *acl_encode(const struct acl *acl, uint32_t *len);

/* The permission bits that a file with this ACL has: those of the group are the mask. */
mode_t acl_mode(const struct acl *acl);
/*
 * The most that a mode alone may grant in the place of this ACL: nobody gets what he did not have.
 * The group has what its entry and the mask allow; and since those who are named fall among the
 * group or the others when the list is gone, no class gets more than each who may fall into it.
 */
mode_t acl_mode_alone(const struct acl *acl);

/* The owner, or the group, was somebody who is nobody here, and may be anybody: nobody has more
 * than it had.  Before acl_close(). */
void acl_bar(struct acl *acl, bool owner, bool group);
/* The owner, or the group, is nobody who had it: neither has more than everybody else then. */
void acl_close(struct acl *acl, bool owner, bool group);
/* Whether the open directory has a default ACL, which what is made in it inherits. */
bool acl_is_inherited(int dir_fd);

#endif
