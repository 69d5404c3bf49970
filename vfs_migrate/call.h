/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to the retriever. */
#ifndef VFS_MIGRATE_CALL_H
#define VFS_MIGRATE_CALL_H

#include "vfs_migrate/volume.h"

/* One request to the retriever, as in migrate.h.  The call has descriptors of its own. */
struct vm_ask {
	enum { VM_FILL, VM_NAME, VM_RANGE, VM_SYNC, VM_BEGIN, VM_END } what;
	int fd;			    /* the object, any descriptor of it; not for END */
	const char *name;	    /* NAME */
	enum migrate_change change; /* BEGIN */
	bool place;		    /* BEGIN: dir_fd counts */
	int dir_fd;		    /* of the directory that gets the name */
	uint64_t begun;		    /* END */
	bool changed, durable;	    /* END */
	uint64_t offset, length;    /* RANGE, BEGIN, END */
	bool make_durable;	    /* RANGE: MIGRATE_DURABLE */
	/* BEGIN: done is called as soon as the reply is here, possibly in the middle of any hook,
	 * as root.
	 */
	bool at_once;
};

struct vm_call;
typedef void (*vm_done_fn)(struct vm_call *call, int status, void *arg);

/*
 * Makes a request; done is called once, from the event loop ev, with the request's status, or with
 * -ETIMEDOUT after migrate:hold (the work goes on).  NULL: errno.  FILL, NAME and RANGE are made
 * again after -EAGAIN.
 *
 * talloc_free() of the call gives it up: done is not called any more.  A BEGIN that is given up, or
 * is not answered in time, is ended without a change if it is granted later.  An END must not be
 * given up for as long as its result matters.
 */
struct vm_call *vm_call_send(TALLOC_CTX *mem_ctx, struct vfs_handle_struct *handle,
			     struct tevent_context *ev, const struct vm_ask *ask, vm_done_fn done,
			     void *arg);
/* Makes a request and waits for its reply, for hooks that cannot be deferred.  begun: for BEGIN,
 * the value that END needs.
 */
int vm_call_wait(struct vfs_handle_struct *handle, const struct vm_ask *ask, uint64_t *begun);
/* The value that END needs, of a BEGIN that was done with status 0. */
uint64_t vm_call_begun(const struct vm_call *call);

#endif
