/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings names that are not here yet.
 *
 * smbd looks a path up component by component before it opens anything, and cannot be told to come
 * back: these hooks wait.  Each hook first passes down.  An object that it then finds is good
 * unless it is a dummy, even in an unfilled directory.  For a name that it does not find, the
 * directory is looked at afterwards; if that is not filled, the name is asked for, and looked for
 * again.
 *
 * Where smbd takes every failure for a missing path, in the directories on the way, a name that
 * cannot be brought now is reported as EACCES: a client that is told that its files are not there
 * may act on that.
 */
#include "vfs_migrate/attrs.h"
#include "vfs_migrate/call.h"
#include "vfs_migrate/lookup.h"
#include "vfs_migrate/object.h"
#include "vfs_migrate/parts.h"

#define MAX_LINKS 40 /* as the kernel */

static bool is_dot(const char *name)
{
	return ISDOT(name) || ISDOTDOT(name);
}

/* Asks for one name: 0, -ENOENT, ... */
static int bring_name(struct vfs_handle_struct *handle, int dir_fd, const char *name)
{
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	return vm_call_wait(handle, &(struct vm_ask){.what = VM_NAME, .fd = dir_fd, .name = name},
			    NULL);
}

static int bring_names(struct vfs_handle_struct *handle, int dir_fd)
{
	return vm_call_wait(handle, &(struct vm_ask){.what = VM_FILL, .fd = dir_fd}, NULL);
}

/* 1: what is open is in that state, 0: it is not, or -errno. */
static int has_state(int fd, enum migrate_state state)
{
	struct migrate_stub stub;
	int result = vm_look_fd(fd, &stub);

	if (result <= 0)
		return result;
	result = stub.state == state;
	migrate_stub_clear(&stub);
	return result;
}

/* The open directory lacks names. */
static int is_unfilled(int dir_fd)
{
	return has_state(dir_fd, MIGRATE_UNFILLED);
}

/*
 * After a lookup of name in dir_fd failed: 0: look again; -ENOENT: it is not there; or -errno.
 * any_case: the host would look for the name in other spellings next, so all names are brought in:
 * if that failed then, the host would take the name for missing.
 */
static int missed(struct vfs_handle_struct *handle, int dir_fd, const char *name, bool any_case)
{
	int result = is_unfilled(dir_fd);

	if (result <= 0)
		return result; /* filled perhaps since: look again */
	result = bring_name(handle, dir_fd, name);
	if (result == -ENOENT && any_case) {
		result = bring_names(handle, dir_fd);
		return result < 0 ? result : -ENOENT;
	}
	return result;
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* Opens one component as it is (O_PATH); -errno. */
static int open_component(struct vfs_handle_struct *handle, int dir_fd, const char *name)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd, result;

	if (vm_hidden(dir_fd, name))
		return -ENOENT;
	fd = openat(dir_fd, name, flags);
	if (is_dot(name))
		return fd < 0 ? -errno : fd;
	if (fd < 0 && errno != ENOENT)
		return -errno;
	if (fd >= 0 && has_state(fd, MIGRATE_DUMMY) <= 0)
		return fd;
	result = fd < 0 ? missed(handle, dir_fd, name, false) : bring_name(handle, dir_fd, name);
	if (fd >= 0)
		close(fd);
	if (result < 0)
		return result;
	fd = openat(dir_fd, name, flags);
	return fd < 0 ? -errno : fd;
}

/* The target of the open link, then the rest of the path. */
static char *through_link(int fd, const char *rest)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);

	if (len <= 0)
		return NULL;
	target[len] = '\0';
	return talloc_asprintf(NULL, "%s/%s", target, rest);
}

static int start_of(int dir_fd, const char *path)
{
	if (path[0] != '/')
		return vm_dup(dir_fd);
	dir_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -errno : dir_fd;
}

/* One step: replaces *at by the object that name is in it, or *path by the target of a link.  0 or
 * -errno. */
static int walk_component(struct vfs_handle_struct *handle, int *at, char **path, const char *name,
			  const char *rest, bool follow)
{
	int fd = open_component(handle, *at, name), result = 0;
	char *next = NULL;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		result = -errno;
	if (result == 0 && S_ISLNK(st.st_mode) && (*rest || follow)) {
		next = through_link(fd, rest);
		close(fd);
		if (!next)
			return -ENOENT;
		fd = start_of(*at, next);
		talloc_free(*path);
		*path = next;
		result = 1;
	}
	close(*at);
	*at = fd;
	return fd < 0 ? fd : result;
}

int vm_bring(struct vfs_handle_struct *handle, int dir_fd, const char *path, bool follow)
{
	char *left = talloc_strdup(NULL, path), *name, *rest;
	int at = left ? start_of(dir_fd, path) : -ENOMEM, result = at < 0 ? at : 0;
	unsigned links = 0;

	rest = left;
	while (result >= 0) {
		rest += strspn(rest, "/");
		if (!*rest)
			break;
		name = talloc_strndup(NULL, rest, strcspn(rest, "/"));
		if (!name) {
			result = -ENOMEM;
			break;
		}
		rest += strlen(name);
		rest += strspn(rest, "/");
		result = walk_component(handle, &at, &left, name, rest, follow);
		talloc_free(name);
		if (result > 0) {
			rest = left;
			if (++links > MAX_LINKS)
				result = -ELOOP;
		}
	}
	if (at >= 0)
		close(at);
	talloc_free(left);
	return result < 0 ? result : 0;
}

/* Whether the private directory could be meant somewhere in the path. */
static bool names_private(const char *path)
{
	return strcasestr(path, MIGRATE_PRIVATE_DIR) != NULL;
}

/* ---- openat --------------------------------------------------------------------------------- */

static bool is_on_the_way(const struct files_struct *fsp, const struct vfs_open_how *how)
{
	return (how->flags & O_PATH) && !fsp->fsp_flags.is_pathref;
}

static int fail_lookup(const struct files_struct *fsp, const struct vfs_open_how *how, int result)
{
	vm_fail(result);
	if (is_on_the_way(fsp, how) && errno != ENOENT && errno != ENAMETOOLONG)
		errno = EACCES;
	return -1;
}

/* Looks at what was opened for the first time. */
static int look_at_opened(struct vfs_handle_struct *handle, struct files_struct *fsp, int fd)
{
	struct migrate_stub stub;
	int result = vm_look_opened(handle, fsp, fd, &stub);

	if (result < 0)
		return result == -ENOMEM ? result : 0; /* a damaged record fails later */
	if (result == 0)
		return 0;
	result = stub.state == MIGRATE_DUMMY;
	migrate_stub_clear(&stub);
	return result;
}

static int open_in_directory(struct vfs_handle_struct *handle, const struct files_struct *dirfsp,
			     const struct smb_filename *smb_fname, struct files_struct *fsp,
			     const struct vfs_open_how *how)
{
	const char *name = smb_fname->base_name;
	int dir_fd = fsp_get_pathref_fd(dirfsp), fd, error, result;
	bool any_case = !handle->conn->case_sensitive;
	bool filled = vm_known_filled(handle, dirfsp);

	if (vm_hidden(dir_fd, name)) {
		errno = how->flags & O_CREAT ? EACCES : ENOENT;
		return -1;
	}
	if ((how->flags & O_CREAT) && !filled) {
		result = is_unfilled(dir_fd);
		if (result > 0)
			result = bring_names(handle, dir_fd);
		if (result < 0)
			return fail_lookup(fsp, how, result);
	}
	fd = SMB_VFS_NEXT_OPENAT(handle, dirfsp, smb_fname, fsp, how);
	error = errno;
	/* ENOTDIR: a dummy that stands for a directory.  EACCES: a user who may not search the
	 * directory is not told what is in it either. */
	if (is_dot(name) || (fd < 0 && (filled || (error != ENOENT && error != ENOTDIR))))
		return fd;
	result = fd >= 0 ? look_at_opened(handle, fsp, fd) : 0;
	if (fd >= 0 && result == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	if (result >= 0)
		result = result > 0 ? bring_name(handle, dir_fd, name)
				    : missed(handle, dir_fd, name, any_case);
	if (result < 0)
		return fail_lookup(fsp, how, result);
	fd = SMB_VFS_NEXT_OPENAT(handle, dirfsp, smb_fname, fsp, how);
	if (fd < 0)
		return fd;
	result = look_at_opened(handle, fsp, fd);
	if (result == 0)
		return fd;
	close(fd);
	return fail_lookup(fsp, how, result < 0 ? result : -EAGAIN);
}

/* The host's attempt with the whole path; if it fails, the host goes on with the components. */
static int open_whole_path(struct vfs_handle_struct *handle, const struct files_struct *dirfsp,
			   const struct smb_filename *smb_fname, struct files_struct *fsp,
			   const struct vfs_open_how *how)
{
	int fd = -1;

	errno = ENOENT;
	if (!names_private(smb_fname->base_name))
		fd = SMB_VFS_NEXT_OPENAT(handle, dirfsp, smb_fname, fsp, how);
	if (fd < 0 || look_at_opened(handle, fsp, fd) == 0)
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}

/* Brings everything that an open by a path needs; with O_CREAT also all other names in the
 * directory. */
static int bring_for_open(struct vfs_handle_struct *handle, int dir_fd, const char *path,
			  const struct vfs_open_how *how)
{
	char *dir = talloc_strdup(talloc_tos(), path);
	int result, fd;

	if (!dir)
		return -ENOMEM;
	*strrchr(dir, '/') = '\0';
	result = vm_bring(handle, dir_fd, how->flags & O_CREAT ? dir : path, false);
	if (result == 0 && (how->flags & O_CREAT)) {
		fd = openat(dir_fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		result = fd < 0 ? -errno : is_unfilled(fd);
		if (result > 0)
			result = bring_names(handle, fd);
		if (result == 0 && vm_hidden(fd, strrchr(path, '/') + 1))
			result = -EACCES;
		if (fd >= 0)
			close(fd);
	}
	talloc_free(dir);
	return result;
}

static int vm_openat(struct vfs_handle_struct *handle, const struct files_struct *dirfsp,
		     const struct smb_filename *smb_fname, struct files_struct *fsp,
		     const struct vfs_open_how *how)
{
	const char *name = smb_fname->base_name;
	int result;

	/* An object that is reopened through /proc is known. */
	if (!dirfsp || fsp_is_alternate_stream(fsp) || is_named_stream(smb_fname) || name[0] == '/')
		return SMB_VFS_NEXT_OPENAT(handle, dirfsp, smb_fname, fsp, how);
	/* The host takes one files_struct for one directory after the other. */
	VFS_REMOVE_FSP_EXTENSION(handle, fsp);
	if (!strchr(name, '/'))
		return open_in_directory(handle, dirfsp, smb_fname, fsp, how);
	if (how->resolve)
		return open_whole_path(handle, dirfsp, smb_fname, fsp, how);
	result = bring_for_open(handle, fsp_get_pathref_fd(dirfsp), name, how);
	if (result < 0)
		return fail_lookup(fsp, how, result);
	return SMB_VFS_NEXT_OPENAT(handle, dirfsp, smb_fname, fsp, how);
}

/* ---- the stat family ------------------------------------------------------------------------ */

struct stat_call {
	enum { STAT, LSTAT, FSTATAT } kind;
	const struct files_struct *dirfsp;
	const struct smb_filename *smb_fname;
	struct smb_filename *out; /* STAT, LSTAT */
	SMB_STRUCT_STAT *st;
	int flags;
};

static int next_stat(struct vfs_handle_struct *handle, const struct stat_call *call)
{
	switch (call->kind) {
	case STAT:
		return SMB_VFS_NEXT_STAT(handle, call->out);
	case LSTAT:
		return SMB_VFS_NEXT_LSTAT(handle, call->out);
	default:
		return SMB_VFS_NEXT_FSTATAT(handle, call->dirfsp, call->smb_fname, call->st,
					    call->flags);
	}
}

/* STAT and LSTAT look through the cache, as the host looks at the share's directory whenever it
 * goes there; FSTATAT does not, as it comes once for each of many entries.
 */
static int look_at_found(int fd, const struct stat_call *call, struct migrate_stub *stub)
{
	return call->kind == FSTATAT ? vm_look_fd(fd, stub) : vm_look_again(fd, stub);
}

/* 1: unfinished, 0: normal or not there, or -errno; looks once more after the name was asked
 * for. */
static int look_at_path(struct vfs_handle_struct *handle, const struct stat_call *call, int dir_fd,
			bool follow, struct migrate_stub *stub)
{
	int flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), fd, result;
	const char *path = call->smb_fname->base_name;
	bool asked = false;

	if (names_private(path)) {
		result = vm_bring(handle, dir_fd, path, follow);
		if (result < 0)
			return result;
	}
	for (;;) {
		fd = openat(dir_fd, path, flags);
		result = fd >= 0 ? look_at_found(fd, call, stub) : 0;
		if (fd >= 0)
			close(fd);
		if (fd >= 0 && !(result > 0 && stub->state == MIGRATE_DUMMY))
			return result == -EBADMSG ? 0 : result;
		if (result > 0)
			migrate_stub_clear(stub);
		if (asked)
			return fd < 0 ? 0 : -EAGAIN;
		asked = true;
		result = vm_bring(handle, dir_fd, path, follow);
		if (result < 0)
			return result;
	}
}

static int stat_path(struct vfs_handle_struct *handle, const struct stat_call *call)
{
	bool follow = call->kind == STAT ||
		      (call->kind == FSTATAT && !(call->flags & AT_SYMLINK_NOFOLLOW));
	int dir_fd = call->kind == FSTATAT ? fsp_get_pathref_fd(call->dirfsp) : AT_FDCWD;
	struct migrate_stub stub;
	int looked = look_at_path(handle, call, dir_fd, follow, &stub);
	int result;

	if (looked < 0)
		return vm_fail(looked);
	result = next_stat(handle, call);
	if (result == 0)
		vm_show(looked, &stub, is_named_stream(call->smb_fname), call->st);
	if (looked > 0)
		migrate_stub_clear(&stub);
	return result;
}

static int vm_stat(struct vfs_handle_struct *handle, struct smb_filename *smb_fname)
{
	return stat_path(handle,
			 &(struct stat_call){STAT, NULL, smb_fname, smb_fname, &smb_fname->st, 0});
}

static int vm_lstat(struct vfs_handle_struct *handle, struct smb_filename *smb_fname)
{
	return stat_path(handle,
			 &(struct stat_call){LSTAT, NULL, smb_fname, smb_fname, &smb_fname->st, 0});
}

static int vm_fstatat(struct vfs_handle_struct *handle, const struct files_struct *dirfsp,
		      const struct smb_filename *smb_fname, SMB_STRUCT_STAT *sbuf, int flags)
{
	return stat_path(handle,
			 &(struct stat_call){FSTATAT, dirfsp, smb_fname, NULL, sbuf, flags});
}

void vm_stat_entry(struct vfs_handle_struct *handle, struct files_struct *dirfsp, char *name,
		   SMB_STRUCT_STAT *sbuf)
{
	struct smb_filename smb_fname = {.base_name = name};

	SET_STAT_INVALID(*sbuf);
	if (vm_fstatat(handle, dirfsp, &smb_fname, sbuf, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (S_ISLNK(sbuf->st_ex_mode) && !(dirfsp->fsp_name->flags & SMB_FILENAME_POSIX_PATH)))
		SET_STAT_INVALID(*sbuf);
}

/* ---- other ways of naming ------------------------------------------------------------------- */

/* Brings the targets of symbolic links.  The host asks for the parent of everything that it opens
 * by a path. */
static struct smb_filename *vm_realpath(struct vfs_handle_struct *handle, TALLOC_CTX *ctx,
					const struct smb_filename *smb_fname)
{
	struct smb_filename *found = SMB_VFS_NEXT_REALPATH(handle, ctx, smb_fname);
	int result;

	if (found ? !names_private(found->base_name) : errno != ENOENT && errno != ENOTDIR)
		return found;
	TALLOC_FREE(found);
	result = vm_bring(handle, AT_FDCWD, smb_fname->base_name, true);
	if (result < 0) {
		vm_fail(result);
		return NULL;
	}
	return SMB_VFS_NEXT_REALPATH(handle, ctx, smb_fname);
}

static int vm_chdir(struct vfs_handle_struct *handle, const struct smb_filename *smb_fname)
{
	int result = SMB_VFS_NEXT_CHDIR(handle, smb_fname);

	if (result == 0 || errno != ENOENT)
		return result;
	result = vm_bring(handle, AT_FDCWD, smb_fname->base_name, true);
	return result < 0 ? vm_fail(result) : SMB_VFS_NEXT_CHDIR(handle, smb_fname);
}

/* A name in another case may be any of the old server's. */
static NTSTATUS vm_get_real_filename_at(struct vfs_handle_struct *handle,
					struct files_struct *dirfsp, const char *name,
					TALLOC_CTX *mem_ctx, char **found_name)
{
	int result = vm_fill(handle, dirfsp);

	return result < 0 ? vm_status(result)
			  : SMB_VFS_NEXT_GET_REAL_FILENAME_AT(handle, dirfsp, name, mem_ctx,
							      found_name);
}

static DIR *vm_fdopendir(struct vfs_handle_struct *handle, files_struct *fsp, const char *mask,
			 uint32_t attributes)
{
	int result = vm_fill(handle, fsp);

	if (result < 0) {
		vm_fail(result);
		return NULL;
	}
	return SMB_VFS_NEXT_FDOPENDIR(handle, fsp, mask, attributes);
}

void vm_lookup_fns(struct vfs_fn_pointers *fns)
{
	fns->openat_fn = vm_openat;
	fns->stat_fn = vm_stat;
	fns->lstat_fn = vm_lstat;
	fns->fstatat_fn = vm_fstatat;
	fns->realpath_fn = vm_realpath;
	fns->chdir_fn = vm_chdir;
	fns->get_real_filename_at_fn = vm_get_real_filename_at;
	fns->fdopendir_fn = vm_fdopendir;
}
