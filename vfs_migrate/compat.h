/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What differs between Samba's VFS interfaces: compat_<interface>.c has the hooks whose signatures
 * do, and passes on to functions with one signature.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include "door.h"

void vm_compat_fns(struct vfs_fn_pointers *fns);

#endif
