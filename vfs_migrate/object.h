/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of what is open. */
#ifndef VFS_MIGRATE_OBJECT_H
#define VFS_MIGRATE_OBJECT_H

#include "vfs_migrate/volume.h"

/*
 * The state of what fsp has open, of the base file for a stream: 1 unfinished, 0 normal, or -errno
 * (-EBADMSG for a damaged record).  Looks at the record unless a file is known to be normal (I1).
 * migrate_stub_clear(stub) afterwards if it returned 1; *stub may be anything otherwise.
 */
int vm_look(struct vfs_handle_struct *handle, struct files_struct *fsp, struct migrate_stub *stub);
/* The same for who does not need the stub, and takes a stream for whole. */
int vm_is_unfinished(struct vfs_handle_struct *handle, struct files_struct *fsp);
/* The same for a descriptor, without remembering. */
int vm_look_fd(int fd, struct migrate_stub *stub);
/* Whether the data behind fsp is known to be whole.  Costs nothing.  A stream's always is. */
bool vm_known_normal(struct vfs_handle_struct *handle, struct files_struct *fsp);
/* The same, at little cost for what is whole or filled and was seen before (stat_cache.h). */
int vm_look_again(int fd, struct migrate_stub *stub);
/* The same for what was opened just now as fd, for fsp. */
int vm_look_opened(struct vfs_handle_struct *handle, struct files_struct *fsp, int fd,
		   struct migrate_stub *stub);
/* Whether all names are known to be in the directory.  Costs nothing. */
bool vm_known_filled(struct vfs_handle_struct *handle, const struct files_struct *dirfsp);
/* 1: all names are in the open directory, for ever.  0: not all.  Or -errno. */
int vm_filled(struct vfs_handle_struct *handle, struct files_struct *dirfsp);
/* Returns when they are: 0 or -errno.  Waits. */
int vm_fill(struct vfs_handle_struct *handle, struct files_struct *dirfsp);

#endif
