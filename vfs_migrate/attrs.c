/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Corrects what clients see of unfinished objects (I8).
 *
 * Order matters for an object that a fill works on.  A fill changes the inode's times, and sets
 * mtime back before it drops the record.  So the record is looked at before the inode: if there is
 * a record, it says what to show; if there is none, the inode's attributes are right.
 */
#include "vfs_migrate/attrs.h"

#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

#define BLOCK 512 /* the unit of st_ex_blocks */

#define RECALL_ON_DATA_ACCESS 0x00400000

void vm_show(int looked, const struct migrate_stub *stub, bool stream, SMB_STRUCT_STAT *st)
{
	uint64_t space = (uint64_t)st->st_ex_blocks * BLOCK;

	if (looked == 0)
		return;
	if (looked < 0) { /* A damaged record: at least it must not look like a hole. */
		if (!stream && S_ISREG(st->st_ex_mode) && space < (uint64_t)st->st_ex_size)
			st->st_ex_blocks = (st->st_ex_size + BLOCK - 1) / BLOCK;
		return;
	}
	if (stub->show_times) {
		/* A time of creation that is only the earliest of the other times is computed anew.
		 * Up to Samba 4.22 a ctime has the seconds of mtime. */
		update_stat_ex_mtime(st, stub->mtime);
		st->st_ex_ctime = get_ctimespec(
			&(struct stat){.st_mtim = stub->mtime, .st_ctim = stub->ctime});
	}
	if (stream)
		return;
	if (stub->nlink)
		st->st_ex_nlink = stub->nlink;
	if (S_ISREG(st->st_ex_mode))
		st->st_ex_blocks = migrate_stub_space(stub, st->st_ex_size, space) / BLOCK;
}

static int vm_fstat(struct vfs_handle_struct *handle, struct files_struct *fsp, SMB_STRUCT_STAT *st)
{
	struct migrate_stub stub;
	int looked = vm_look(handle, fsp, &stub);
	int result = SMB_VFS_NEXT_FSTAT(handle, fsp, st);

	if (result == 0)
		vm_show(looked, &stub, fsp_is_alternate_stream(fsp), st);
	if (looked > 0)
		migrate_stub_clear(&stub);
	return result;
}

bool vm_is_offline(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	struct migrate_stub stub;
	int looked;
	bool offline;

	if (vm_known_normal(handle, fsp) || fsp->fsp_flags.is_directory)
		return false;
	looked = vm_look(handle, fsp, &stub);
	if (looked <= 0)
		return looked == -EBADMSG;
	offline = stub.state == MIGRATE_DUMMY || stub.missing_bytes;
	migrate_stub_clear(&stub);
	return offline;
}

/* With any status of NEXT: without stored attributes the host takes what is in *attributes. */
static NTSTATUS vm_fget_dos_attributes(struct vfs_handle_struct *handle, struct files_struct *fsp,
				       uint32_t *attributes)
{
	bool offline = !vm_share(handle)->overwriting && vm_is_offline(handle, fsp);
	NTSTATUS status = SMB_VFS_NEXT_FGET_DOS_ATTRIBUTES(handle, fsp, attributes);

	if (offline)
		*attributes |= FILE_ATTRIBUTE_OFFLINE;
	if (offline && vm_share(handle)->recall)
		*attributes |= RECALL_ON_DATA_ACCESS;
	return status;
}

static uint32_t vm_fs_capabilities(struct vfs_handle_struct *handle,
				   enum timestamp_set_resolution *resolution)
{
	uint32_t capabilities = SMB_VFS_NEXT_FS_CAPABILITIES(handle, resolution);

	/* The host guesses the resolution from the root's times, which may be the old server's and
	 * coarse, and rounds all times that it shows and sets by it. */
	*resolution = TIMESTAMP_SET_NT_OR_BETTER;
	return capabilities | FILE_SUPPORTS_REMOTE_STORAGE;
}

/*
 * A dummy has neither owner nor ACL.  No dummy should be open, as names are asked for before they
 * are looked up.
 */
static NTSTATUS vm_fget_nt_acl(struct vfs_handle_struct *handle, struct files_struct *fsp,
			       uint32_t info, TALLOC_CTX *mem_ctx, struct security_descriptor **acl)
{
	struct migrate_stub stub;
	bool dummy;

	if (!vm_known_normal(handle, fsp) && vm_look(handle, fsp, &stub) > 0) {
		dummy = stub.state == MIGRATE_DUMMY;
		migrate_stub_clear(&stub);
		if (dummy)
			return vm_status(-EAGAIN);
	}
	return SMB_VFS_NEXT_FGET_NT_ACL(handle, fsp, info, mem_ctx, acl);
}

/* The record is shown to no client. */
static ssize_t vm_fgetxattr(struct vfs_handle_struct *handle, struct files_struct *fsp,
			    const char *name, void *value, size_t size)
{
	if (migrate_is_record(name)) {
		errno = ENODATA;
		return -1;
	}
	return SMB_VFS_NEXT_FGETXATTR(handle, fsp, name, value, size);
}

static ssize_t vm_flistxattr(struct vfs_handle_struct *handle, struct files_struct *fsp, char *list,
			     size_t size)
{
	ssize_t have = SMB_VFS_NEXT_FLISTXATTR(handle, fsp, list, size), at = 0, len;

	while (size && at < have) {
		len = strnlen(list + at, have - at) + 1;
		if (at + len <= have && migrate_is_record(list + at)) {
			memmove(list + at, list + at + len, have - at - len);
			have -= len;
		} else {
			at += len;
		}
	}
	return have;
}

void vm_attrs_fns(struct vfs_fn_pointers *fns)
{
	fns->fstat_fn = vm_fstat;
	fns->fget_dos_attributes_fn = vm_fget_dos_attributes;
	/* the asynchronous hooks read the attributes past this module: without them the host uses
	 * those above */
	fns->get_dos_attributes_send_fn = vfs_not_implemented_get_dos_attributes_send;
	fns->get_dos_attributes_recv_fn = vfs_not_implemented_get_dos_attributes_recv;
	fns->fs_capabilities_fn = vm_fs_capabilities;
	fns->fget_nt_acl_fn = vm_fget_nt_acl;
	fns->fgetxattr_fn = vm_fgetxattr;
	fns->flistxattr_fn = vm_flistxattr;
}
