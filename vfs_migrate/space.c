/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sizes, holes and space.  FSCTL_SET_ZERO_DATA and allocation sizes come as fallocate, a truncating
 * open as ftruncate, FSCTL_QUERY_ALLOCATED_RANGES as lseek.
 */
#include "vfs_migrate/bracket.h"
#include "vfs_migrate/call.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

struct space {
	struct vfs_handle_struct *handle;
	struct files_struct *fsp;
	uint32_t mode;
	off_t offset, length;
};

static int make_truncation(void *arg)
{
	struct space *space = arg;

	return SMB_VFS_NEXT_FTRUNCATE(space->handle, space->fsp, space->offset);
}

/* vfs_default's condition. */
static bool allocates_strictly(const struct files_struct *fsp)
{
	return lp_strict_allocate(SNUM(fsp->conn)) && !fsp->fsp_flags.is_sparse;
}

static int vm_ftruncate(struct vfs_handle_struct *handle, struct files_struct *fsp, off_t size)
{
	struct space space = {.handle = handle, .fsp = fsp, .offset = size};
	struct vm_change change = {
		.kind = MIGRATE_TRUNCATE, .offset = size, .make = make_truncation, .arg = &space};
	int result;

	if (vm_known_normal(handle, fsp))
		return make_truncation(&space);
	result = vm_change(handle, fsp, &change);
	/* The host has looked at the file within the bracket, where the change does not show yet,
	 * and sets that mtime again when it wants a new ctime: so it has to look again here.  Where
	 * the host does not look after a truncation, it sets the earlier mtime on a share without
	 * this module, too. */
	if (result == 0 && !allocates_strictly(fsp))
		(void)vfs_stat_fsp(fsp);
	return result;
}

static int make_allocation(void *arg)
{
	struct space *space = arg;

	return SMB_VFS_NEXT_FALLOCATE(space->handle, space->fsp, space->mode, space->offset,
				      space->length);
}

static int vm_fallocate(struct vfs_handle_struct *handle, struct files_struct *fsp, uint32_t mode,
			off_t offset, off_t length)
{
	const uint32_t known = VFS_FALLOCATE_FL_KEEP_SIZE | VFS_FALLOCATE_FL_PUNCH_HOLE;
	struct space space = {handle, fsp, mode, offset, length};
	struct vm_change change = {
		.kind = mode & VFS_FALLOCATE_FL_PUNCH_HOLE ? MIGRATE_PUNCH : MIGRATE_ATTRIBUTES,
		.offset = offset,
		.length = length,
		.make = make_allocation,
		.arg = &space,
	};

	/* for a directory the file system refuses it */
	if (vm_known_normal(handle, fsp) || fsp->fsp_flags.is_directory)
		return make_allocation(&space);
	/* Modes that would move data, which a record cannot follow. */
	if (mode & ~known)
		return vm_fail(-EOPNOTSUPP);
	return vm_change(handle, fsp, &change);
}

static int seek_below(void *arg, bool hole, uint64_t offset, uint64_t *at)
{
	struct space *space = arg;
	off_t found =
		SMB_VFS_NEXT_LSEEK(space->handle, space->fsp, offset, hole ? SEEK_HOLE : SEEK_DATA);

	if (found < 0)
		return -errno;
	*at = found;
	return 0;
}

static off_t seek_stub(struct vfs_handle_struct *handle, struct files_struct *fsp,
		       const struct migrate_stub *stub, off_t offset, bool hole)
{
	struct space space = {.handle = handle, .fsp = fsp};
	struct migrate_seek how = {.below = seek_below, .arg = &space};
	struct stat st;
	uint64_t at;
	int result;

	if (fstat(vm_fd(fsp), &st) < 0)
		return -1;
	how.size = st.st_size;
	how.block = st.st_blksize;
	result = migrate_stub_seek(stub, &how, hole, offset, &at);
	return result < 0 ? vm_fail(result) : (off_t)at;
}

/* vm_look(), after dirty ranges were made durable: then the file's holes are real ones. */
static int look_to_seek(struct vfs_handle_struct *handle, struct files_struct *fsp,
			struct migrate_stub *stub)
{
	struct vm_ask ask = {
		.what = VM_RANGE, .fd = vm_fd(fsp), .length = UINT64_MAX, .make_durable = true};
	int result = vm_look(handle, fsp, stub);

	if (result <= 0 || !migrate_stub_dirty(stub))
		return result;
	migrate_stub_clear(stub);
	result = vm_call_wait(handle, &ask, NULL);
	return result < 0 ? result : vm_look(handle, fsp, stub);
}

static off_t vm_lseek(struct vfs_handle_struct *handle, struct files_struct *fsp, off_t offset,
		      int whence)
{
	struct migrate_stub stub;
	off_t at;
	int result;

	if ((whence != SEEK_DATA && whence != SEEK_HOLE) || vm_known_normal(handle, fsp))
		return SMB_VFS_NEXT_LSEEK(handle, fsp, offset, whence);
	do {
		result = look_to_seek(handle, fsp, &stub);
		if (result < 0)
			return vm_fail(result);
		if (result == 0)
			return SMB_VFS_NEXT_LSEEK(handle, fsp, offset, whence);
		at = seek_stub(handle, fsp, &stub, offset, whence == SEEK_HOLE);
		if (at >= 0)
			result = migrate_stub_confirm(vm_fd(fsp), &stub.version);
		migrate_stub_clear(&stub);
	} while (result == 0);
	return result < 0 ? vm_fail(result) : at;
}

void vm_space_fns(struct vfs_fn_pointers *fns)
{
	fns->ftruncate_fn = vm_ftruncate;
	fns->fallocate_fn = vm_fallocate;
	fns->lseek_fn = vm_lseek;
}
