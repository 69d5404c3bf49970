/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets attributes of unfinished objects for clients, in brackets, so that no fill undoes them (I7).
 *
 * The host sets one attribute by means of others, and calls the hooks of all: a time of creation is
 * set as a DOS attribute, and that as an extended attribute.  The outermost hook opens the bracket.
 *
 * Not here: lchown, which the host calls for symbolic links, and they are whole from the start;
 * fchflags and set_compression, which no file system that a volume can be on has.
 */
#include "vfs_migrate/attrs.h"
#include "vfs_migrate/bracket.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

#define RECALL_ON_OPEN	      0x00040000
#define RECALL_ON_DATA_ACCESS 0x00400000
#define NOT_THE_CLIENTS	      (FILE_ATTRIBUTE_OFFLINE | RECALL_ON_OPEN | RECALL_ON_DATA_ACCESS)

struct setter {
	struct vfs_handle_struct *handle;
	struct files_struct *fsp;
	enum {
		DOS_ATTRIBUTES,
		TIMES,
		MODE,
		OWNER,
		NT_ACL,
		POSIX_ACL,
		DEFAULT_ACL,
		XATTR,
		NO_XATTR,
	} what;
	union {
		uint32_t attributes;
		struct smb_file_time *times;
		mode_t mode;
		struct {
			uid_t uid;
			gid_t gid;
		};
		struct {
			uint32_t info;
			const struct security_descriptor *descriptor;
		};
		struct {
			SMB_ACL_TYPE_T type;
			SMB_ACL_T acl;
		};
		struct {
			const char *name;
			const void *value;
			size_t size;
			int flags;
		};
	};
	NTSTATUS status; /* of hooks that return one */
};

static int set_below(void *arg)
{
	struct setter *s = arg;
	struct vfs_handle_struct *handle = s->handle;

	switch (s->what) {
	case DOS_ATTRIBUTES:
		s->status = SMB_VFS_NEXT_FSET_DOS_ATTRIBUTES(handle, s->fsp, s->attributes);
		break;
	case TIMES:
		return SMB_VFS_NEXT_FNTIMES(handle, s->fsp, s->times);
	case MODE:
		return SMB_VFS_NEXT_FCHMOD(handle, s->fsp, s->mode);
	case OWNER:
		return SMB_VFS_NEXT_FCHOWN(handle, s->fsp, s->uid, s->gid);
	case NT_ACL:
		s->status = SMB_VFS_NEXT_FSET_NT_ACL(handle, s->fsp, s->info, s->descriptor);
		break;
	case POSIX_ACL:
		return SMB_VFS_NEXT_SYS_ACL_SET_FD(handle, s->fsp, s->type, s->acl);
	case DEFAULT_ACL:
		return SMB_VFS_NEXT_SYS_ACL_DELETE_DEF_FD(handle, s->fsp);
	case XATTR:
		return SMB_VFS_NEXT_FSETXATTR(handle, s->fsp, s->name, s->value, s->size, s->flags);
	case NO_XATTR:
		return SMB_VFS_NEXT_FREMOVEXATTR(handle, s->fsp, s->name);
	}
	if (NT_STATUS_IS_OK(s->status))
		return 0;
	errno = map_errno_from_nt_status(s->status);
	return -1;
}

static int set_in_bracket(struct setter *s)
{
	struct vm_change change = {
		.kind = MIGRATE_ATTRIBUTES,
		.make = set_below,
		.arg = s,
		.once = s->what == NO_XATTR || (s->what == XATTR && s->flags & XATTR_CREATE),
	};

	s->status = NT_STATUS_OK;
	return vm_change(s->handle, s->fsp, &change);
}

static NTSTATUS set_status(struct setter *s)
{
	if (set_in_bracket(s) == 0)
		return NT_STATUS_OK;
	return NT_STATUS_IS_OK(s->status) ? map_nt_error_from_unix(errno) : s->status;
}

static bool is_record(const char *name)
{
	if (!migrate_is_record(name))
		return false;
	errno = EACCES;
	return true;
}

/* The stored attributes, without those that are shown because of the file's name. */
static uint32_t stored(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	uint32_t attributes = 0;

	(void)SMB_VFS_NEXT_FGET_DOS_ATTRIBUTES(handle, fsp, &attributes);
	return attributes;
}

/*
 * Whether the client sets only attributes that the file shows already.  The host itself skips
 * those, whether or not the client may set them; but it compares with the shown attributes, which
 * have OFFLINE.  Attributes that the host does not keep count as none here.  After a rename the
 * host sets the shown attributes with ARCHIVE, which has to be stored.  A time of creation is set
 * together with the present attributes, in its own bracket.
 */
static bool changes_nothing(struct vfs_handle_struct *handle, struct files_struct *fsp,
			    uint32_t attributes)
{
	const uint32_t kept = (SAMBA_ATTRIBUTES_MASK | FILE_ATTRIBUTE_SPARSE) & ~NOT_THE_CLIENTS;

	if (vm_in_bracket(vm_fd(fsp)) || !vm_is_offline(handle, fsp) ||
	    (fdos_mode(fsp) & kept) != attributes)
		return false;
	return !(attributes & FILE_ATTRIBUTE_ARCHIVE) || (stored(handle, fsp) & kept) == attributes;
}

/* Where the host sets or clears "sparse", it gives back the attributes that it read, with one bit
 * changed. */
static NTSTATUS vm_fset_dos_attributes(struct vfs_handle_struct *handle, struct files_struct *fsp,
				       uint32_t attributes)
{
	struct setter s = {handle, fsp, DOS_ATTRIBUTES,
			   .attributes = attributes & ~NOT_THE_CLIENTS};

	if (changes_nothing(handle, fsp, s.attributes))
		return NT_STATUS_OK;
	return set_status(&s);
}

/* The host calls it with such times where it sets only attributes. */
static bool sets_no_time(const struct smb_file_time *times)
{
	return times && is_omit_timespec(&times->create_time) && is_omit_timespec(&times->atime) &&
	       is_omit_timespec(&times->mtime);
}

static int vm_fntimes(struct vfs_handle_struct *handle, struct files_struct *fsp,
		      struct smb_file_time *times)
{
	return sets_no_time(times)
		       ? SMB_VFS_NEXT_FNTIMES(handle, fsp, times)
		       : set_in_bracket(&(struct setter){handle, fsp, TIMES, .times = times});
}

static int vm_fchmod(struct vfs_handle_struct *handle, struct files_struct *fsp, mode_t mode)
{
	return set_in_bracket(&(struct setter){handle, fsp, MODE, .mode = mode});
}

static int vm_fchown(struct vfs_handle_struct *handle, struct files_struct *fsp, uid_t uid,
		     gid_t gid)
{
	return set_in_bracket(&(struct setter){handle, fsp, OWNER, .uid = uid, .gid = gid});
}

static NTSTATUS vm_fset_nt_acl(struct vfs_handle_struct *handle, struct files_struct *fsp,
			       uint32_t info, const struct security_descriptor *descriptor)
{
	return set_status(
		&(struct setter){handle, fsp, NT_ACL, .info = info, .descriptor = descriptor});
}

static int vm_sys_acl_set_fd(struct vfs_handle_struct *handle, struct files_struct *fsp,
			     SMB_ACL_TYPE_T type, SMB_ACL_T acl)
{
	return set_in_bracket(&(struct setter){handle, fsp, POSIX_ACL, .type = type, .acl = acl});
}

static int vm_sys_acl_delete_def_fd(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	return set_in_bracket(&(struct setter){handle, fsp, DEFAULT_ACL});
}

static int vm_fsetxattr(struct vfs_handle_struct *handle, struct files_struct *fsp,
			const char *name, const void *value, size_t size, int flags)
{
	return is_record(name) ? -1
			       : set_in_bracket(&(struct setter){handle, fsp, XATTR, .name = name,
								 .value = value, .size = size,
								 .flags = flags});
}

static int vm_fremovexattr(struct vfs_handle_struct *handle, struct files_struct *fsp,
			   const char *name)
{
	return is_record(name)
		       ? -1
		       : set_in_bracket(&(struct setter){handle, fsp, NO_XATTR, .name = name});
}

void vm_setters_fns(struct vfs_fn_pointers *fns)
{
	fns->fset_dos_attributes_fn = vm_fset_dos_attributes;
	fns->fntimes_fn = vm_fntimes;
	fns->fchmod_fn = vm_fchmod;
	fns->fchown_fn = vm_fchown;
	fns->fset_nt_acl_fn = vm_fset_nt_acl;
	fns->sys_acl_set_fd_fn = vm_sys_acl_set_fd;
	fns->sys_acl_delete_def_fd_fn = vm_sys_acl_delete_def_fd;
	fns->fsetxattr_fn = vm_fsetxattr;
	fns->fremovexattr_fn = vm_fremovexattr;
}
