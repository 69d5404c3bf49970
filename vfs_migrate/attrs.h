/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What clients see of unfinished objects. */
#ifndef VFS_MIGRATE_ATTRS_H
#define VFS_MIGRATE_ATTRS_H

#include "vfs_migrate/volume.h"

/*
 * Corrects what the inode says by what its record said before (looked, stub: of vm_look() or
 * vm_look_fd(), called before the inode was asked): the times, the space, an unfilled directory's
 * links.  stream: st is that of a stream of the file.
 */
void vm_show(int looked, const struct migrate_stub *stub, bool stream, SMB_STRUCT_STAT *st);
/* Until the data is whole; a directory has none. */
bool vm_is_offline(struct vfs_handle_struct *handle, struct files_struct *fsp);

#endif
