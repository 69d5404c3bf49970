/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samba 4.17 */
#include "vfs_migrate/compat.h"

#include "vfs_migrate/lookup.h"

static struct dirent *vm_readdir(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
				 DIR *dirp, SMB_STRUCT_STAT *sbuf)
{
	struct dirent *entry;

	do {
		entry = SMB_VFS_NEXT_READDIR(handle, dirfsp, dirp, NULL);
	} while (entry && vm_hidden(vm_fd(dirfsp), entry->d_name));
	if (entry && sbuf)
		vm_stat_entry(handle, dirfsp, entry->d_name, sbuf);
	return entry;
}

static int rename_below(const struct vm_rename *args)
{
	return SMB_VFS_NEXT_RENAMEAT(args->handle, args->from_dir, args->from, args->to_dir,
				     args->to);
}

static int vm_renameat(struct vfs_handle_struct *handle, struct files_struct *from_dir,
		       const struct smb_filename *from, struct files_struct *to_dir,
		       const struct smb_filename *to)
{
	const struct vm_rename args = {handle, from_dir, to_dir, from, to, rename_below, NULL};

	return vm_rename(&args);
}

bool vm_compat_appends(const struct files_struct *fsp)
{
	return false; /* data that a client wants appended come with an offset */
}

bool vm_compat_directory_leases(void)
{
	return false; /* there are none */
}

void vm_compat_fns(struct vfs_fn_pointers *fns)
{
	fns->renameat_fn = vm_renameat;
	fns->readdir_fn = vm_readdir;
}
