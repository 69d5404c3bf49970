/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Corrects the attributes of unfinished objects to those that clients are to see (I8). */
#ifndef VFS_MIGRATE_ATTRS_H
#define VFS_MIGRATE_ATTRS_H

#include "vfs_migrate/volume.h"

/*
 * Corrects st, the inode's attributes, by the record: the times, the space, an unfilled directory's
 * links.  looked, stub: of vm_look() or vm_look_fd(), called before the inode's attributes were
 * read.  stream: st is that of a stream of the file.
 */
void vm_show(int looked, const struct migrate_stub *stub, bool stream, SMB_STRUCT_STAT *st);
/* Whether the file's data are not whole yet; false for a directory, which has no data. */
bool vm_is_offline(struct vfs_handle_struct *handle, struct files_struct *fsp);

#endif
