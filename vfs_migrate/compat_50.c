/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samba from 4.22 on */
#include "vfs_migrate/compat.h"

#include "vfs_migrate/lookup.h"

static struct dirent *vm_readdir(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
				 DIR *dirp)
{
	struct dirent *entry;

	do {
		entry = SMB_VFS_NEXT_READDIR(handle, dirfsp, dirp);
	} while (entry && vm_hidden(vm_fd(dirfsp), entry->d_name));
	return entry;
}

static int rename_below(const struct vm_rename *args)
{
	return SMB_VFS_NEXT_RENAMEAT(args->handle, args->from_dir, args->from, args->to_dir,
				     args->to, args->how);
}

static int vm_renameat(struct vfs_handle_struct *handle, struct files_struct *from_dir,
		       const struct smb_filename *from, struct files_struct *to_dir,
		       const struct smb_filename *to, const struct vfs_rename_how *how)
{
	const struct vm_rename args = {handle, from_dir, to_dir, from, to, rename_below, how};

	return vm_rename(&args);
}

static_assert(VM_APPEND == VFS_PWRITE_APPEND_OFFSET, "what vfs_default takes");

bool vm_compat_appends(const struct files_struct *fsp)
{
	return fsp->fsp_flags.posix_append;
}

bool vm_compat_directory_leases(void)
{
	return lp_smb3_directory_leases();
}

void vm_compat_fns(struct vfs_fn_pointers *fns)
{
	fns->renameat_fn = vm_renameat;
	fns->readdir_fn = vm_readdir;
}
