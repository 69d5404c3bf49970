/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What main.c hands to the host. */
#ifndef VFS_MIGRATE_PARTS_H
#define VFS_MIGRATE_PARTS_H

#include "vfs_migrate/door.h"

/* Each part of the module enters its hooks. */
void vm_lookup_fns(struct vfs_fn_pointers *fns);
void vm_open_fns(struct vfs_fn_pointers *fns);
void vm_attrs_fns(struct vfs_fn_pointers *fns);
void vm_setters_fns(struct vfs_fn_pointers *fns);
void vm_names_fns(struct vfs_fn_pointers *fns);
void vm_read_fns(struct vfs_fn_pointers *fns);
void vm_write_fns(struct vfs_fn_pointers *fns);
void vm_space_fns(struct vfs_fn_pointers *fns);
void vm_offload_fns(struct vfs_fn_pointers *fns);

#endif
