/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Brings names that are not here yet, when they are looked up. */
#ifndef VFS_MIGRATE_LOOKUP_H
#define VFS_MIGRATE_LOOKUP_H

#include "vfs_migrate/volume.h"

/*
 * Brings every component of path, relative to dir_fd, with its attributes, and the targets of
 * symbolic links on the way; with follow also the target of the last component.  0; -ENOENT, also
 * for the private directory; -ELOOP; -errno.  Waits.  With the caller's permissions.
 */
int vm_bring(struct vfs_handle_struct *handle, int dir_fd, const char *path, bool follow);

/* The attributes that readdir gives beside an entry's name: made invalid if readdir cannot tell
 * them, or if the entry is a symbolic link that the client does not see as a link. */
void vm_stat_entry(struct vfs_handle_struct *handle, struct files_struct *dirfsp, char *name,
		   SMB_STRUCT_STAT *sbuf);

#endif
