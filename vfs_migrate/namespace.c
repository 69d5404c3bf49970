/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes, removes and moves names.  Names change in filled directories only (I6); an object that is
 * not normal gets a name in a bracket, so that the directory and those above it have records first
 * (I5).
 *
 * The host renames and removes an object that it has open, under its lock of the open file: other
 * smbds that open that file wait meanwhile.  Therefore open.c has the directory filled when an
 * object is opened for that, and waits here are the exception.
 */
#include "vfs_migrate/bracket.h"
#include "vfs_migrate/call.h"
#include "vfs_migrate/compat.h"
#include "vfs_migrate/lookup.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

/* Where a name is or will be: its directory, and the last component. */
struct place {
	int dir_fd; /* O_PATH; closed by place_clear() if `ours` */
	bool ours;
	const char *name;
	bool was_filled; /* before the wait */
};

static void place_clear(struct place *place)
{
	if (place->ours)
		close(place->dir_fd);
	place->ours = false;
}

/* Opens the parent of a path with slashes: modules before this one give such paths, from the
 * working directory. */
static int open_parent(int dir_fd, const char *path, const char *last)
{
	char *parent = talloc_strndup(talloc_tos(), path, last - path);
	int fd = parent ? openat(dir_fd, parent, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	int error = parent ? errno : ENOMEM;

	TALLOC_FREE(parent);
	return fd < 0 ? -error : fd;
}

static int fill_fd(struct vfs_handle_struct *handle, int fd, bool *was_filled)
{
	struct vm_ask ask = {.what = VM_FILL, .fd = fd};
	struct migrate_stub stub;
	int result = vm_look_fd(fd, &stub);

	*was_filled = result <= 0 || stub.state == MIGRATE_FILLED;
	if (result > 0)
		migrate_stub_clear(&stub);
	return *was_filled ? MIN(result, 0) : vm_call_wait(handle, &ask, NULL);
}

static int fill_parent(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
		       struct place *place)
{
	int result;

	if (place->ours)
		return fill_fd(handle, place->dir_fd, &place->was_filled);
	result = vm_filled(handle, dirfsp);
	place->was_filled = result != 0;
	return result == 0 ? vm_fill(handle, dirfsp) : MIN(result, 0);
}

/*
 * Whether a name may be made or removed there.  0, and place_clear() has to follow; or -errno.
 */
static int may_name(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
		    const struct smb_filename *smb_fname, struct place *place)
{
	const char *path = smb_fname->base_name, *slash = strrchr(path, '/');
	int result;

	*place = (struct place){.dir_fd = vm_fd(dirfsp), .name = slash ? slash + 1 : path};
	if (slash) {
		result = open_parent(place->dir_fd, path, place->name);
		if (result < 0)
			return result;
		place->dir_fd = result;
		place->ours = true;
	}
	if (vm_hidden(place->dir_fd, place->name))
		result = -EACCES;
	else
		result = fill_parent(handle, dirfsp, place);
	if (result < 0)
		place_clear(place);
	return result;
}

static void close_keeping_errno(int fd)
{
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
}

/* Opens the object with that name: a descriptor, or -1 with errno, as nothing is done to an object
 * that cannot be looked at.
 */
static int open_named(const struct place *place, struct stat *st)
{
	int fd = openat(place->dir_fd, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, st) < 0) {
		close_keeping_errno(fd);
		fd = -1;
	}
	return fd;
}

/* 1: it is not normal; 0: it is; or -errno. */
static int is_unfinished_fd(int fd)
{
	struct migrate_stub stub;
	int result = vm_look_fd(fd, &stub);

	if (result > 0)
		migrate_stub_clear(&stub);
	return result;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* 0: the name may be made; -1 with errno. */
static int may_make(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
		    const struct smb_filename *smb_fname)
{
	struct place place;
	int result = may_name(handle, dirfsp, smb_fname, &place);

	if (result < 0)
		return vm_fail(result);
	place_clear(&place);
	return 0;
}

static int vm_mkdirat(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
		      const struct smb_filename *smb_fname, mode_t mode)
{
	return may_make(handle, dirfsp, smb_fname) < 0
		       ? -1
		       : SMB_VFS_NEXT_MKDIRAT(handle, dirfsp, smb_fname, mode);
}

static int vm_mknodat(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
		      const struct smb_filename *smb_fname, mode_t mode, SMB_DEV_T device)
{
	return may_make(handle, dirfsp, smb_fname) < 0
		       ? -1
		       : SMB_VFS_NEXT_MKNODAT(handle, dirfsp, smb_fname, mode, device);
}

static int vm_symlinkat(struct vfs_handle_struct *handle, const struct smb_filename *target,
			struct files_struct *dirfsp, const struct smb_filename *smb_fname)
{
	return may_make(handle, dirfsp, smb_fname) < 0
		       ? -1
		       : SMB_VFS_NEXT_SYMLINKAT(handle, target, dirfsp, smb_fname);
}

/* Links of DFS are symbolic links, for which the host has hooks of their own. */
static NTSTATUS vm_create_dfs_pathat(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
				     const struct smb_filename *smb_fname,
				     const struct referral *referrals, size_t count)
{
	if (may_make(handle, dirfsp, smb_fname) < 0)
		return map_nt_error_from_unix(errno);
	return SMB_VFS_NEXT_CREATE_DFS_PATHAT(handle, dirfsp, smb_fname, referrals, count);
}

static NTSTATUS vm_read_dfs_pathat(struct vfs_handle_struct *handle, TALLOC_CTX *mem_ctx,
				   struct files_struct *dirfsp, struct smb_filename *smb_fname,
				   struct referral **referrals, size_t *count)
{
	int result = vm_bring(handle, vm_fd(dirfsp), smb_fname->base_name, false);

	if (result < 0)
		return vm_status(result);
	return SMB_VFS_NEXT_READ_DFS_PATHAT(handle, mem_ctx, dirfsp, smb_fname, referrals, count);
}

struct link {
	struct vfs_handle_struct *handle;
	struct files_struct *from_dir, *to_dir;
	const struct smb_filename *from, *to;
	int flags;
};

static int link_object(void *arg)
{
	struct link *link = arg;

	return SMB_VFS_NEXT_LINKAT(link->handle, link->from_dir, link->from, link->to_dir, link->to,
				   link->flags);
}

static int vm_linkat(struct vfs_handle_struct *handle, struct files_struct *from_dir,
		     const struct smb_filename *from, struct files_struct *to_dir,
		     const struct smb_filename *to, int flags)
{
	struct link link = {handle, from_dir, to_dir, from, to, flags};
	struct vm_change change = {.kind = MIGRATE_PLACE,
				   .place = true,
				   .make = link_object,
				   .arg = &link,
				   .once = true};
	struct place place;
	int fd, result = may_name(handle, to_dir, to, &place);

	if (result < 0)
		return vm_fail(result);
	change.dir_fd = place.dir_fd;
	fd = openat(vm_fd(from_dir), from->base_name,
		    O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_FOLLOW ? 0 : O_NOFOLLOW));
	result = fd >= 0 ? is_unfinished_fd(fd) : -errno;
	if (result < 0)
		result = vm_fail(result);
	else
		result = result ? vm_bracket(handle, fd, &change) : link_object(&link);
	close_keeping_errno(fd);
	place_clear(&place);
	return result;
}

/* ---- taking away ----------------------------------------------------------------------------- */

struct unlink {
	struct vfs_handle_struct *handle;
	struct files_struct *dirfsp;
	const struct smb_filename *smb_fname;
	int flags;
};

static int make_unlink(void *arg)
{
	struct unlink *gone = arg;

	return SMB_VFS_NEXT_UNLINKAT(gone->handle, gone->dirfsp, gone->smb_fname, gone->flags);
}

/* The file's other names stay, with a new ctime: a change of attributes. */
static int unlink_file(struct unlink *gone, int fd, const struct stat *st)
{
	struct vm_change change = {
		.kind = MIGRATE_ATTRIBUTES, .make = make_unlink, .arg = gone, .once = true};

	/* A client that removes the file does not need its record. */
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2 || is_unfinished_fd(fd) <= 0)
		return make_unlink(gone);
	return vm_bracket(gone->handle, fd, &change);
}

static int vm_unlinkat(struct vfs_handle_struct *handle, struct files_struct *dirfsp,
		       const struct smb_filename *smb_fname, int flags)
{
	struct unlink gone = {handle, dirfsp, smb_fname, flags};
	struct place place;
	struct stat st;
	bool was_filled;
	int fd, result;

	if (is_named_stream(smb_fname)) /* becomes a change of attributes */
		return make_unlink(&gone);
	result = may_name(handle, dirfsp, smb_fname, &place);
	if (result < 0)
		return vm_fail(result);
	fd = open_named(&place, &st);
	place_clear(&place);
	if (fd < 0)
		return -1;
	/* An unfilled directory looks empty. */
	result = S_ISDIR(st.st_mode) ? fill_fd(handle, fd, &was_filled) : 0;
	if (result < 0)
		result = vm_fail(result);
	else
		result = unlink_file(&gone, fd, &st);
	close_keeping_errno(fd);
	return result;
}

/* ---- moving ---------------------------------------------------------------------------------- */

struct rename {
	const struct vm_rename *args;
	struct place from, to;
	int fd; /* what is moved */
	struct stat st;
	bool was_here; /* an object was in the way already before the wait for the directory */
	struct migrate_replaced replaced;
};

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The host works by the name, which another server may have given to another object since. */
static int make_rename(void *arg)
{
	const struct rename *move = arg;
	struct stat st;

	if (fstatat(move->from.dir_fd, move->from.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!is_same_inode(&st, &move->st))
		return vm_fail(-EAGAIN);
	return move->args->below(move->args);
}

static int make_nothing(void *arg)
{
	return 0;
}

/*
 * Checks the object that is in the way.  The host has looked for one when the names were not here
 * yet, and its rename replaces any object that it finds.
 */
static int check_replaced(struct rename *move)
{
	bool was_filled;

	if (move->replaced.fd < 0)
		return 0;
	if (!move->to.was_filled && !move->was_here)
		return -EEXIST;
	return move->replaced.fill ? fill_fd(move->args->handle, move->replaced.fd, &was_filled)
				   : 0;
}

/* Whether a directory would move into itself, which the kernel refuses; a second exclusive lock
 * here would wait for the first. */
static bool moves_into_itself(const struct rename *move)
{
	struct stat dir;

	return fstatat(move->to.dir_fd, "", &dir, AT_EMPTY_PATH) == 0 &&
	       is_same_inode(&dir, &move->st);
}

/* A normal directory must not become unfinished while it is moved without a bracket. */
static int rename_held(struct rename *move)
{
	struct vm_change change = {.kind = MIGRATE_PLACE,
				   .place = true,
				   .dir_fd = move->to.dir_fd,
				   .make = make_rename,
				   .arg = move,
				   .once = true};
	int held = -1, result;

	if (moves_into_itself(move))
		return make_rename(change.arg);
	if (S_ISDIR(move->st.st_mode)) {
		held = vm_hold(move->args->handle, move->fd, MIGRATE_HOLD_ALONE);
		if (held < 0)
			return vm_fail(held);
	}
	result = is_unfinished_fd(move->fd);
	if (result < 0)
		result = vm_fail(result);
	else if (result > 0)
		result = vm_bracket(move->args->handle, move->fd, &change);
	else
		result = make_rename(change.arg);
	close_keeping_errno(held);
	return result;
}

static int rename_found(struct rename *move)
{
	const struct vm_change touch = {.kind = MIGRATE_ATTRIBUTES, .make = make_nothing};
	int result = check_replaced(move);

	if (result < 0)
		return vm_fail(result);
	result = rename_held(move);
	if (result == 0 && move->replaced.touch)
		(void)vm_bracket(move->args->handle, move->replaced.fd, &touch);
	return result;
}

static int rename_placed(struct rename *move)
{
	int result, error;

	move->fd = open_named(&move->from, &move->st);
	if (move->fd < 0)
		return -1;
	result = migrate_replaced_find(move->to.dir_fd, move->to.name, &move->st, &move->replaced);
	result = result < 0 ? vm_fail(result) : rename_found(move);
	error = errno;
	migrate_replaced_clear(&move->replaced);
	close(move->fd);
	errno = error;
	return result;
}

int vm_rename(const struct vm_rename *args)
{
	struct rename move = {.args = args};
	struct stat st;
	int result;

	if (is_named_stream(args->from)) /* becomes changes of attributes */
		return args->below(args);
	result = may_name(args->handle, args->from_dir, args->from, &move.from);
	if (result < 0)
		return vm_fail(result);
	move.was_here =
		fstatat(vm_fd(args->to_dir), args->to->base_name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	result = may_name(args->handle, args->to_dir, args->to, &move.to);
	if (result == 0) {
		result = rename_placed(&move);
		place_clear(&move.to);
	} else {
		result = vm_fail(result);
	}
	place_clear(&move.from);
	return result;
}

void vm_names_fns(struct vfs_fn_pointers *fns)
{
	fns->mkdirat_fn = vm_mkdirat;
	fns->mknodat_fn = vm_mknodat;
	fns->symlinkat_fn = vm_symlinkat;
	fns->create_dfs_pathat_fn = vm_create_dfs_pathat;
	fns->read_dfs_pathat_fn = vm_read_dfs_pathat;
	fns->linkat_fn = vm_linkat;
	fns->unlinkat_fn = vm_unlinkat;
}
