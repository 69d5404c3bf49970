/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "vfs_migrate/bracket.h"
#include "vfs_migrate/call.h"
#include "vfs_migrate/object.h"

#define PAUSE_MS 5

/*
 * Hooks are called from within hooks: acl_xattr sets an attribute where it sets an ACL, vfs_default
 * writes where it allocates.  A second bracket of the same object would wait for fills that wait
 * for the first bracket; the first is enough.
 */
struct opened {
	dev_t device;
	ino_t inode;
	struct opened *outer;
};
static struct opened *innermost;

static bool is_open(const struct opened *this)
{
	for (const struct opened *at = innermost; at; at = at->outer)
		if (at->device == this->device && at->inode == this->inode)
			return true;
	return false;
}

static int identify(int fd, struct opened *this)
{
	struct stat st;

	if (fstatat(fd, fd == AT_FDCWD ? "." : "", &st, AT_EMPTY_PATH) < 0)
		return -1;
	this->device = st.st_dev;
	this->inode = st.st_ino;
	return 0;
}

bool vm_in_bracket(int fd)
{
	struct opened this;

	return innermost && identify(fd, &this) == 0 && is_open(&this);
}

static int bracket_begin(struct vfs_handle_struct *handle, int fd, const struct vm_change *change,
			 uint64_t *begun)
{
	struct timeval until = timeval_current_ofs_msec(vm_share(handle)->hold_ms);
	struct vm_ask ask = {
		.what = VM_BEGIN,
		.fd = fd,
		.change = change->kind,
		.place = change->place,
		.dir_fd = change->dir_fd,
		.offset = change->offset,
		.length = change->length,
	};
	int result = vm_call_wait(handle, &ask, begun);

	/* another program has the directory, or one above it, locked */
	while (result == -EAGAIN && !timeval_expired(&until)) {
		vm_volume_dispatch(vm_share(handle)->volume, PAUSE_MS);
		result = vm_call_wait(handle, &ask, begun);
	}
	return result;
}

static int bracket_end(struct vfs_handle_struct *handle, const struct vm_change *change,
		       uint64_t begun, bool changed)
{
	return vm_call_wait(handle,
			    &(struct vm_ask){
				    .what = VM_END,
				    .begun = begun,
				    .changed = changed,
				    .durable = change->durable,
				    .offset = change->offset,
				    .length = change->length,
			    },
			    NULL);
}

/* The retriever waits for nothing at an end, so an end that takes too long means that it hangs. */
static int make_in_brackets(struct vfs_handle_struct *handle, int fd,
			    const struct vm_change *change)
{
	struct migrate_bracket bracket = {.once = change->once,
					  .until = migrate_in_ms(vm_share(handle)->hold_ms)};
	int made = -1, error = 0, result;
	uint64_t begun = 0;

	do {
		switch (bracket.step) {
		case MIGRATE_STEP_BEGIN:
			result = bracket_begin(handle, fd, change, &begun);
			break;
		case MIGRATE_STEP_CHANGE:
			result = made = change->make(change->arg);
			error = errno;
			break;
		default:
			result = bracket_end(handle, change, begun, !bracket.failed);
		}
	} while (migrate_bracket_next(&bracket, result) != MIGRATE_STEP_ANSWER);
	if (bracket.status < 0)
		return vm_fail(bracket.status);
	errno = error;
	return made;
}

int vm_hold(struct vfs_handle_struct *handle, int dir_fd, enum migrate_lock_directory hold)
{
	struct timeval until = timeval_current_ofs_msec(vm_share(handle)->hold_ms);
	int held;

	do {
		become_root(); /* the client may not be allowed to list the directory */
		held = migrate_lock_directory(dir_fd, hold, NULL);
		unbecome_root();
		if (held != -EAGAIN)
			return held;
		vm_volume_dispatch(vm_share(handle)->volume, PAUSE_MS);
	} while (!timeval_expired(&until));
	return -EAGAIN;
}

static int hold_and_make(struct vfs_handle_struct *handle, int fd, const struct vm_change *change)
{
	int held = -1, result, error;

	if (change->place) {
		held = vm_hold(handle, change->dir_fd, MIGRATE_HOLD_SHARED);
		if (held < 0)
			return vm_fail(held);
	}
	result = make_in_brackets(handle, fd, change);
	error = errno;
	if (held >= 0)
		close(held);
	errno = error;
	return result;
}

int vm_bracket(struct vfs_handle_struct *handle, int fd, const struct vm_change *change)
{
	struct opened this = {.outer = innermost};
	int result;

	if (identify(fd, &this) < 0)
		return -1;
	if (is_open(&this))
		return change->make(change->arg);
	innermost = &this;
	result = hold_and_make(handle, fd, change);
	innermost = this.outer;
	return result;
}

int vm_change(struct vfs_handle_struct *handle, struct files_struct *fsp,
	      const struct vm_change *change)
{
	struct migrate_stub stub;
	int result = vm_look(handle, fsp, &stub);

	if (result < 0)
		return vm_fail(result);
	if (result == 0)
		return change->make(change->arg);
	migrate_stub_clear(&stub);
	return vm_bracket(handle, vm_fd(fsp), change);
}
