/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "door.h"

static int begin(struct vfs_handle_struct *handle, int fd, const struct vm_change *change,
		 uint64_t *begun)
{
	struct vm_ask ask = {
		.what = VM_BEGIN,
		.fd = fd,
		.change = change->kind,
		.place = change->place,
		.dir_fd = change->dir_fd,
		.offset = change->offset,
		.length = change->length,
	};

	return vm_call_wait(handle, &ask, begun);
}

static int end(struct vfs_handle_struct *handle, const struct vm_change *change, uint64_t begun,
	       bool changed)
{
	struct vm_ask ask = {
		.what = VM_END,
		.begun = begun,
		.changed = changed,
		.durable = change->durable,
		.offset = change->offset,
		.length = change->length,
	};

	return vm_call_wait(handle, &ask, NULL);
}

/*
 * The retriever waits for nobody, so an end that takes too long means that it hangs.  What was made
 * is answered as made only if it cannot be made again; see the NFS door, which does the same.
 */
static int make_in_brackets(struct vfs_handle_struct *handle, int fd,
			    const struct vm_change *change)
{
	struct timeval until = timeval_current_ofs_msec(vm_share(handle)->hold_ms);
	int made = -1, error = 0, result;
	bool tried = false;
	uint64_t begun;

	do {
		result = begin(handle, fd, change, &begun);
		if (result == 0) {
			if (!tried || !change->once) {
				made = change->make(change->arg);
				error = errno;
			}
			tried = true;
			result = end(handle, change, begun, made >= 0);
		}
	} while (result == -ECONNRESET && !timeval_expired(&until));
	if (tried && (change->once || made < 0)) {
		errno = error;
		return made;
	}
	return result < 0 ? vm_fail(result) : made;
}

int vm_bracket(struct vfs_handle_struct *handle, int fd, const struct vm_change *change)
{
	unsigned hold_ms = vm_share(handle)->hold_ms;
	struct timespec until;
	int held = -1, result, error;

	if (change->place) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += hold_ms / 1000;
		held = migrate_hold(change->dir_fd, MIGRATE_HOLD_SHARED, &until);
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
