/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What differs between Samba's VFS interfaces: compat_*.c have the hooks whose signatures differ;
 * these call functions with one signature.  CMake picks the newest compat_*.c that the interface is
 * not too old for.
 */
#ifndef VFS_MIGRATE_COMPAT_H
#define VFS_MIGRATE_COMPAT_H

#include "vfs_migrate/volume.h"

/* A rename, with the further arguments of the hook below. */
struct vm_rename {
	struct vfs_handle_struct *handle;
	struct files_struct *from_dir, *to_dir;
	const struct smb_filename *from, *to;
	int (*below)(const struct vm_rename *args);
	const void *how; /* from interface 49 on */
};
/* namespace.c */
int vm_rename(const struct vm_rename *args);

/* Whether all writes through fsp are appended at the end that the file then has.  The hooks below
 * then take no other offset than VM_APPEND. */
#define VM_APPEND (-1)
bool vm_compat_appends(const struct files_struct *fsp);

/* Fills in the lock that has to be checked before size bytes from offset on are read or written, as
 * others may have locked them. */
void vm_compat_lock(struct files_struct *fsp, off_t offset, size_t size, enum brl_type type,
		    struct lock_struct *lock);

/* Whether clients may keep what they were told of a directory. */
bool vm_compat_directory_leases(void);

void vm_compat_fns(struct vfs_fn_pointers *fns);

#endif
