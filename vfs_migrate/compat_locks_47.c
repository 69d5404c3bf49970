/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Before interface 52: a lock has a flavour. */
#include "vfs_migrate/compat.h"

void vm_compat_lock(struct files_struct *fsp, off_t offset, size_t size, enum brl_type type,
		    struct lock_struct *lock)
{
	init_strict_lock_struct(fsp, fsp->op->global->open_persistent_id, offset, size, type,
				lp_posix_cifsu_locktype(fsp), lock);
}
