/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Defers opens that have to wait for a directory: the host is told so, as for a sharing violation,
 * and serves other requests.  When the directory is filled, or migrate:hold is over, the host
 * processes the request again, from the lookup of the path on.
 *
 * The name that is opened, and a file's attributes, are here by then (lookup.c); the data are
 * fetched when they are read.
 */
#include "vfs_migrate/call.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

/* The host looks into the record of a deferred open, which it believes to be its own: it finds
 * zeros. */
#define HOST_RECORD 256

struct deferred {
	uint8_t host[HOST_RECORD];
	struct timeval started; /* the first time this open was deferred */
	bool done;
	int status;
	struct smbXsrv_connection *xconn;
	uint64_t mid;
	struct vm_call *call;
};

static struct deferred *find_deferred(struct smb_request *req)
{
	struct deferred_open_record *record = NULL;

	if (!req || !get_deferred_open_message_state(req, NULL, &record) || !record)
		return NULL;
	return talloc_get_type(record, struct deferred);
}

static void filled(struct vm_call *call, int status, void *arg)
{
	struct deferred *deferred = arg;

	deferred->done = true;
	deferred->status = status;
	schedule_deferred_open_message_smb(deferred->xconn, deferred->mid);
}

/* NT_STATUS_SHARING_VIOLATION: deferred.  Anything else: it is not. */
static NTSTATUS defer_open(struct vfs_handle_struct *handle, struct smb_request *req, int dir_fd,
			   struct timeval started, struct file_id id)
{
	struct vm_share *share = vm_share(handle);
	struct vm_ask ask = {.what = VM_FILL, .fd = dir_fd};
	struct deferred *deferred = talloc_zero(NULL, struct deferred);

	if (!deferred)
		return NT_STATUS_NO_MEMORY;
	deferred->started = started;
	deferred->xconn = req->xconn;
	deferred->mid = req->mid;
	deferred->call = vm_call_send(deferred, handle, share->ev, &ask, filled, deferred);
	if (!deferred->call) {
		NTSTATUS status = map_nt_error_from_unix(errno);

		TALLOC_FREE(deferred);
		return status;
	}
	/* The request takes the record over.  The request's own timer must not come first. */
	if (!push_deferred_open_message_smb(req,
					    tevent_timeval_set(2 * share->hold_ms / 1000 + 60, 0),
					    id, (struct deferred_open_record *)deferred)) {
		TALLOC_FREE(deferred);
		return NT_STATUS_INTERNAL_ERROR;
	}
	return NT_STATUS_SHARING_VIOLATION;
}

/* Whether a directory is opened for its names, and not only for attributes. */
static bool wants_names(uint32_t access_mask)
{
	return access_mask & (SEC_DIR_LIST | SEC_DIR_ADD_FILE | SEC_DIR_ADD_SUBDIR |
			      SEC_DIR_DELETE_CHILD | SEC_STD_DELETE | SEC_FLAG_MAXIMUM_ALLOWED |
			      SEC_GENERIC_ALL | SEC_GENERIC_READ | SEC_GENERIC_WRITE);
}

static bool makes_names(uint32_t disposition)
{
	return disposition != FILE_OPEN && disposition != FILE_OVERWRITE;
}

/* Whether the object is opened to be renamed or removed: that is done under a lock which keeps
 * others from opening it, so its directory should be filled by then. */
static bool takes_name_away(uint32_t access_mask, uint32_t options)
{
	return access_mask & SEC_STD_DELETE || options & FILE_DELETE_ON_CLOSE;
}

/* After a failed attempt to reopen a directory, the host has it open without a descriptor, and
 * works by its name. */
static bool is_open_directory(const struct files_struct *fsp)
{
	return fsp && fsp->fsp_flags.is_directory && vm_fd(fsp) != -1;
}

struct wanted {
	struct files_struct *dir; /* NULL: nothing is waited for */
	bool must;		  /* else the open goes on without waiting */
};

/* The directory whose names an open needs and that may lack some. */
static struct wanted wanted(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
			    const struct smb_filename *smb_fname, uint32_t access_mask,
			    uint32_t disposition, uint32_t options)
{
	/* The working directory as dirfsp is the parent only of a name without slashes. */
	bool in_dirfsp =
		dirfsp && !(dirfsp == handle->conn->cwd_fsp && strchr(smb_fname->base_name, '/'));

	if (is_named_stream(smb_fname))
		return (struct wanted){0};
	if (is_open_directory(smb_fname->fsp) && wants_names(access_mask) &&
	    vm_filled(handle, smb_fname->fsp) <= 0)
		return (struct wanted){smb_fname->fsp, true};
	if (in_dirfsp && !smb_fname->fsp && makes_names(disposition))
		return (struct wanted){dirfsp, true};
	if (in_dirfsp && smb_fname->fsp && takes_name_away(access_mask, options))
		return (struct wanted){dirfsp, false};
	return (struct wanted){0};
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* NT_STATUS_OK: go on; NT_STATUS_SHARING_VIOLATION: deferred; else it fails. */
static NTSTATUS prepare_open(struct vfs_handle_struct *handle, struct smb_request *req,
			     struct files_struct *dirfsp, const struct smb_filename *smb_fname,
			     uint32_t access_mask, uint32_t disposition, uint32_t options)
{
	struct wanted want = wanted(handle, dirfsp, smb_fname, access_mask, disposition, options);
	struct deferred *deferred = find_deferred(req);
	struct timeval started = {0};
	int result;

	if (dirfsp && !smb_fname->fsp && makes_names(disposition) &&
	    vm_hidden(vm_fd(dirfsp), last_component(smb_fname->base_name)))
		return NT_STATUS_ACCESS_DENIED;
	if (deferred) {
		started = deferred->started;
		result = deferred->done ? deferred->status : -EAGAIN;
		remove_deferred_open_message_smb(req->xconn, req->mid);
		if (result < 0)
			return want.dir && !want.must ? NT_STATUS_OK : vm_status(result);
	}
	if (!want.dir)
		return NT_STATUS_OK;
	result = vm_filled(handle, want.dir);
	if (result != 0)
		return result < 0 && want.must ? vm_status(result) : NT_STATUS_OK;
	if (deferred && timeval_elapsed(&started) * 1000 > vm_share(handle)->hold_ms)
		return want.must ? vm_status(-EAGAIN) : NT_STATUS_OK;
	if (!req || !req->smb2req)
		return want.must ? vm_status(vm_fill(handle, want.dir)) : NT_STATUS_OK;
	if (!timerisset(&started))
		started = timeval_current();
	return defer_open(handle, req, vm_fd(want.dir), started, want.dir->file_id);
}

/* Whether the open overwrites.  The host then compares the file's attributes with the wanted ones,
 * and sets the mode anew or leaves it; a file that is overwritten is not offline afterwards. */
static bool overwrites(uint32_t disposition)
{
	return disposition == FILE_OVERWRITE || disposition == FILE_OVERWRITE_IF;
}

static NTSTATUS vm_create_file(struct vfs_handle_struct *handle, struct smb_request *req,
			       struct files_struct *dirfsp, struct smb_filename *smb_fname,
			       uint32_t access_mask, uint32_t share_access,
			       uint32_t create_disposition, uint32_t create_options,
			       uint32_t file_attributes, uint32_t oplock_request,
			       const struct smb2_lease *lease, uint64_t allocation_size,
			       uint32_t private_flags, struct security_descriptor *sd,
			       struct ea_list *ea_list, files_struct **result, int *pinfo,
			       const struct smb2_create_blobs *in_context_blobs,
			       struct smb2_create_blobs *out_context_blobs)
{
	NTSTATUS status = prepare_open(handle, req, dirfsp, smb_fname, access_mask,
				       create_disposition, create_options);
	struct vm_share *share = vm_share(handle);
	bool outer = share->overwriting; /* opening a stream opens its file */

	if (!NT_STATUS_IS_OK(status))
		return status;
	share->overwriting = overwrites(create_disposition);
	status = SMB_VFS_NEXT_CREATE_FILE(
		handle, req, dirfsp, smb_fname, access_mask, share_access, create_disposition,
		create_options, file_attributes, oplock_request, lease, allocation_size,
		private_flags, sd, ea_list, result, pinfo, in_context_blobs, out_context_blobs);
	share->overwriting = outer;
	return status;
}

/* No durable handle of an unfinished file: the cookie holds the file's size, space and times, which
 * a fill changes.  A file that is whole when it is opened stays so until the client comes back. */
static NTSTATUS vm_durable_cookie(struct vfs_handle_struct *handle, struct files_struct *fsp,
				  TALLOC_CTX *mem_ctx, DATA_BLOB *cookie)
{
	struct migrate_stub stub;
	int result = vm_look(handle, fsp, &stub);

	if (result > 0)
		migrate_stub_clear(&stub);
	if (result != 0)
		return NT_STATUS_NOT_SUPPORTED;
	return SMB_VFS_NEXT_DURABLE_COOKIE(handle, fsp, mem_ctx, cookie);
}

/* With kernel oplocks, a fill, which opens the file, would wait until the client has given back the
 * oplock with which it reads. */
static int vm_linux_setlease(struct vfs_handle_struct *handle, struct files_struct *fsp, int type)
{
	int unfinished = type == F_UNLCK ? 0 : vm_is_unfinished(handle, fsp);

	if (!unfinished)
		return SMB_VFS_NEXT_LINUX_SETLEASE(handle, fsp, type);
	errno = unfinished < 0 ? -unfinished : EAGAIN;
	return -1;
}

void vm_open_fns(struct vfs_fn_pointers *fns)
{
	fns->create_file_fn = vm_create_file;
	fns->durable_cookie_fn = vm_durable_cookie;
	fns->linux_setlease_fn = vm_linux_setlease;
}
