/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samba 4.17 */
#include "compat.h"

static struct dirent *vm_readdir(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
				 DIR *dirp, SMB_STRUCT_STAT *sbuf)
{
	struct dirent *entry;

	do {
		entry = SMB_VFS_NEXT_READDIR(handle, dirfsp, dirp, sbuf);
	} while (entry && vm_hidden(vm_fd(dirfsp), entry->d_name));
	return entry;
}

void vm_compat_fns(struct vfs_fn_pointers *fns)
{
	fns->readdir_fn = vm_readdir;
}
