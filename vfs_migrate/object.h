/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out and remembers the state of open objects. */
#ifndef VFS_MIGRATE_OBJECT_H
#define VFS_MIGRATE_OBJECT_H

#include "vfs_migrate/volume.h"

/*
 * The state of the object that fsp has open (for a stream, of its base file): 1 unfinished, 0
 * normal, or -errno (-EBADMSG: a damaged record).  Looks at the record, except of a file that is
 * known to be normal (I1).  If it returned 1, migrate_stub_clear(stub) afterwards; otherwise *stub
 * is undefined.
 */
int vm_look(struct vfs_handle_struct *handle, struct files_struct *fsp, struct migrate_stub *stub);
/* The same without the stub; a stream counts as normal. */
int vm_is_unfinished(struct vfs_handle_struct *handle, struct files_struct *fsp);
/* The same for a descriptor, without remembering. */
int vm_look_fd(int fd, struct migrate_stub *stub);
/* Whether the data behind fsp are known to be whole, as those of a stream always are.  Costs
 * nothing. */
bool vm_known_normal(struct vfs_handle_struct *handle, struct files_struct *fsp);
/* As vm_look_fd(), at little cost for an object that is whole or filled and was seen before
 * (stat_cache.h). */
int vm_look_again(int fd, struct migrate_stub *stub);
/* The same for an object that was opened just now as fd, for fsp. */
int vm_look_opened(struct vfs_handle_struct *handle, struct files_struct *fsp, int fd,
		   struct migrate_stub *stub);
/* Whether all names are known to be in the directory.  Costs nothing. */
bool vm_known_filled(struct vfs_handle_struct *handle, const struct files_struct *dirfsp);
/* 1: the open directory has all names, for ever.  0: it does not.  Or -errno. */
int vm_filled(struct vfs_handle_struct *handle, struct files_struct *dirfsp);
/* Waits until the directory has all names: 0 or -errno. */
int vm_fill(struct vfs_handle_struct *handle, struct files_struct *dirfsp);

#endif
