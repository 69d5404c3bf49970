/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended attributes and ACLs of a local or mounted tree (file_source.c). */
#ifndef LIB_SOURCE_FILE_FILE_XATTR_H
#define LIB_SOURCE_FILE_FILE_XATTR_H

#include "lib/source/backend.h"

#define FILE_XATTR_MEMORY (2u * 65536)

/*
 * Adds what the object behind an O_PATH descriptor has to xattrs.  memory: FILE_XATTR_MEMORY bytes
 * to work in.  nfs4: see file_has_nfs4_acls.  0 or -errno.
 */
int file_get_xattrs(int fd, bool nfs4, uint8_t *memory, struct source_xattrs *xattrs);

/* Reports the flags of FS_IOC_GETFLAGS that cannot be carried over. */
void file_tell_flags(unsigned flags, struct source_xattrs *xattrs);

/*
 * Whether the tree is mounted over NFS version 4, where each object has an NFSv4 ACL, mostly one
 * that says nothing: such ACLs are reported once (not_carried), not for each object.
 */
bool file_has_nfs4_acls(int fd, uint8_t *memory);

#endif
