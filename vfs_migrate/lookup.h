/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that are not here yet. */
#ifndef VFS_MIGRATE_LOOKUP_H
#define VFS_MIGRATE_LOOKUP_H

#include "vfs_migrate/volume.h"

/*
 * Brings every component of path, relative to dir_fd, with its attributes, and what symbolic links
 * on the way lead to; with follow also what the last component does.  0; -ENOENT, also for the
 * private directory; -ELOOP; -errno.  Waits.  With the caller's permissions.
 */
int vm_bring(struct vfs_handle_struct *handle, int dir_fd, const char *path, bool follow);

/* What readdir says of an entry beside its name: made invalid where it cannot tell, also of a link
 * that the client does not see as one. */
void vm_stat_entry(struct vfs_handle_struct *handle, struct files_struct *dirfsp, char *name,
		   SMB_STRUCT_STAT *sbuf);

#endif
