/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/call.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/stat_cache.h"

/* The extension of a files_struct: what is known of the object that it has open. */
struct object {
	bool normal; /* a file, for ever (I1) */
	bool filled; /* a directory: all names are here, for ever */
};

/* The working directory's files_struct stands for another directory whenever the process changes
 * it. */
static struct object *object(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	return fsp == fsp->conn->cwd_fsp ? NULL
					 : VFS_ADD_FSP_EXTENSION(handle, fsp, struct object, NULL);
}

int vm_look_fd(int fd, struct migrate_stub *stub)
{
	/* smbd may report the errno that its last attempt before this one left */
	int error = errno, at = fd == AT_FDCWD ? vm_dup(fd) : fd;
	int result = at < 0 ? -EIO : migrate_stub_load(at, stub);

	if (at != fd && at >= 0)
		close(at);
	if (at < 0)
		return result;
	if (result >= 0)
		errno = error;
	if (result == 0 && stub->state != MIGRATE_NORMAL)
		return 1;
	migrate_stub_clear(stub);
	return result;
}

bool vm_known_normal(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	const struct object *known = VFS_FETCH_FSP_EXTENSION(handle, fsp);

	return fsp_is_alternate_stream(fsp) || (known && known->normal);
}

bool vm_known_filled(struct vfs_handle_struct *handle, const struct files_struct *dirfsp)
{
	const struct object *known =
		dirfsp == dirfsp->conn->cwd_fsp ? NULL : VFS_FETCH_FSP_EXTENSION(handle, dirfsp);

	return known && known->filled;
}

static void remember(struct vfs_handle_struct *handle, struct files_struct *fsp,
		     enum migrate_state state, bool directory)
{
	struct object *known = object(handle, fsp);

	if (!known)
		return;
	if (state == MIGRATE_FILLED) {
		known->filled = true;
	} else if (state == MIGRATE_NORMAL) {
		known->filled = directory && !vm_share(handle)->unattached;
		known->normal = !directory;
	}
}

static int look_again(int fd, struct migrate_stub *stub, bool *directory)
{
	int error = errno, result = vm_stat_cache_load(fd, stub, directory);

	if (result >= 0)
		errno = error;
	return result;
}

int vm_look_again(int fd, struct migrate_stub *stub)
{
	bool directory;

	return look_again(fd, stub, &directory);
}

int vm_look_opened(struct vfs_handle_struct *handle, struct files_struct *fsp, int fd,
		   struct migrate_stub *stub)
{
	bool directory;
	int result = look_again(fd, stub, &directory);

	if (result >= 0)
		remember(handle, fsp, result > 0 ? stub->state : MIGRATE_NORMAL, directory);
	return result;
}

int vm_look(struct vfs_handle_struct *handle, struct files_struct *fsp, struct migrate_stub *stub)
{
	struct files_struct *base = metadata_fsp(fsp);
	struct stat st;
	int fd, result;

	if (vm_known_normal(handle, base))
		return 0;
	fd = fsp_get_pathref_fd(base);
	if (fd < 0 && fd != AT_FDCWD)
		return -EBADF;
	if (vm_known_filled(handle, base)) /* and has seldom changed since */
		return vm_look_opened(handle, base, fd, stub);
	result = vm_look_fd(fd, stub);
	if (result > 0)
		remember(handle, base, stub->state, false);
	else if (result == 0 && fstat(fd, &st) == 0)
		remember(handle, base, MIGRATE_NORMAL, S_ISDIR(st.st_mode));
	return result;
}

int vm_is_unfinished(struct vfs_handle_struct *handle, struct files_struct *fsp)
{
	struct migrate_stub stub;
	int result = vm_known_normal(handle, fsp) ? 0 : vm_look(handle, fsp, &stub);

	if (result > 0)
		migrate_stub_clear(&stub);
	return result;
}

int vm_filled(struct vfs_handle_struct *handle, struct files_struct *dirfsp)
{
	struct migrate_stub stub;
	int result;

	if (vm_known_filled(handle, dirfsp))
		return 1;
	result = vm_look(handle, dirfsp, &stub);
	if (result <= 0)
		return result < 0 ? result : 1;
	result = stub.state == MIGRATE_FILLED;
	migrate_stub_clear(&stub);
	return result;
}

int vm_fill(struct vfs_handle_struct *handle, struct files_struct *dirfsp)
{
	struct vm_ask ask = {.what = VM_FILL, .fd = vm_fd(dirfsp)};
	int result = vm_filled(handle, dirfsp);

	if (result != 0)
		return result < 0 ? result : 0;
	result = vm_call_wait(handle, &ask, NULL);
	/* a listing needs no space */
	return result == -ENOSPC || result == -EDQUOT || result == -EROFS ? -EIO : result;
}
