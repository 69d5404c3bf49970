/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What differs between Samba's VFS interfaces: compat_*.c have the hooks whose signatures do, which
 * pass on to functions with one signature.  CMake picks those that begin last.
 */
#ifndef VFS_MIGRATE_COMPAT_H
#define VFS_MIGRATE_COMPAT_H

#include "vfs_migrate/volume.h"

/* A rename, with what the hook below needs besides. */
struct vm_rename {
	struct vfs_handle_struct *handle;
	struct files_struct *from_dir, *to_dir;
	const struct smb_filename *from, *to;
	int (*below)(const struct vm_rename *args);
	const void *how; /* from interface 49 on */
};
/* namespace.c */
int vm_rename(const struct vm_rename *args);

/* Whether all that is written through it is appended, wherever the end is by then.  The only offset
 * that the hooks below take is VM_APPEND then. */
#define VM_APPEND (-1)
bool vm_compat_appends(const struct files_struct *fsp);

/* What to check before size bytes from offset on are read or written in spite of others' locks. */
void vm_compat_lock(struct files_struct *fsp, off_t offset, size_t size, enum brl_type type,
		    struct lock_struct *lock);

/* Whether clients may keep what they were told of a directory. */
bool vm_compat_directory_leases(void);

void vm_compat_fns(struct vfs_fn_pointers *fns);

#endif
