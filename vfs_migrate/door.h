/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vfs_migrate: the SMB door of a migrating volume, a module of smbd.
 *
 * Every hook passes down unchanged unless the object it touches is unfinished.  Then it first asks
 * the retriever for what is needed (call.c), or makes its change in a bracket (bracket.c), and
 * shows the record's times.
 *
 * smbd serves one client per process, in one thread with one event loop (tevent).  Whoever waits in
 * a hook stops that client.  So what can be deferred is: an open (open.c), reads and writes.  Path
 * lookups and changes of names can not; they wait, no longer than migrate:hold.  A request that
 * takes longer fails with NT_STATUS_IO_TIMEOUT, while the work goes on.
 *
 * libmigrate's replies arrive in migrate_volume_dispatch(), which is called by the event loop and
 * by hooks that wait, so possibly in the middle of any hook.  A reply therefore only notes its
 * status; callbacks of this module run later, from the event loop itself.  They and everything
 * after a deferral run with the euid of whoever was served last: see vm_become_user().
 *
 * Hooks return -1 with errno, or an NTSTATUS.  Functions here return 0 or -errno, as migrate.h
 * says; vm_fail() and vm_status() translate.
 */
#ifndef DOOR_H
#define DOOR_H

#include "includes.h"
#include "smbd/smbd.h"
#include "smbd/globals.h"
#include "system/filesys.h"
#include "lib/util/tevent_unix.h"
#include "lib/util/tevent_ntstatus.h"

#include "migrate.h"

/* One volume, shared by the process's tree connects of it. */
struct vm_volume {
	struct vm_volume *prev, *next;
	char *name;
	char *socket; /* NULL: the default */
	unsigned shares;
	struct migrate_volume *client;
	struct tevent_fd *readable;
	bool connected, refused; /* what the log was told */
	bool late; /* since the event loop was left something was waited for in vain */
	struct tevent_immediate *turn; /* ends that */
	struct vm_call *calls;
};

/* One tree connect: handle->data. */
struct vm_share {
	struct vm_volume *volume;
	struct tevent_context *ev;
	unsigned hold_ms; /* how long a request waits before it fails */
	bool recall;	  /* FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS on what is not whole */
	bool unattached;  /* when it was connected: a normal directory may become unfilled */
	bool overwriting; /* in an open that overwrites what is there: OFFLINE is not said */
};

static inline struct vm_share *vm_share(const struct vfs_handle_struct *handle)
{
	return handle->data;
}

/* ---- main.c --------------------------------------------------------------------------------- */

/* Each part of the module enters its hooks. */
void vm_lookup_fns(struct vfs_fn_pointers *fns);
void vm_open_fns(struct vfs_fn_pointers *fns);
void vm_attrs_fns(struct vfs_fn_pointers *fns);
void vm_setters_fns(struct vfs_fn_pointers *fns);
void vm_names_fns(struct vfs_fn_pointers *fns);
void vm_read_fns(struct vfs_fn_pointers *fns);
void vm_write_fns(struct vfs_fn_pointers *fns);
void vm_space_fns(struct vfs_fn_pointers *fns);
void vm_offload_fns(struct vfs_fn_pointers *fns);

/* The errno of a hook for a negative result: sets errno, returns -1.  -EAGAIN, -ECANCELED and
 * -ECONNRESET become ETIMEDOUT, what the old server or a record makes impossible becomes EIO. */
int vm_fail(int result);
/* Likewise ends a request that takes an errno. */
void vm_req_fail(struct tevent_req *req, int result);
/* The same as a status; 0: NT_STATUS_OK. */
NTSTATUS vm_status(int result);

/* ---- volume.c ------------------------------------------------------------------------------- */

/* The volume of that name and socket, connected to its retriever if there is one.  NULL: errno. */
struct vm_volume *vm_volume_get(struct tevent_context *ev, const char *name, const char *socket);
/* The last one closes the connection and completes all requests with -ECANCELED. */
void vm_volume_put(struct vm_volume *volume);
/* What the retriever has sent, for up to timeout_ms, as root: it takes no other peers. */
void vm_volume_dispatch(struct vm_volume *volume, int timeout_ms);
/*
 * What the share's directory says: VM_NOT_ATTACHED: it is empty and nothing tells that it is in a
 * volume; VM_FINISHED: nothing at or below it is unfinished, for ever; VM_MIGRATING: anything may
 * be.  -EBADMSG: a record there or above is damaged; -EIO, -errno.
 */
enum { VM_MIGRATING, VM_FINISHED, VM_NOT_ATTACHED };
int vm_volume_inspect(struct vm_volume *volume, const char *path);
/*
 * Whether name is the private directory in the directory dir_fd (O_PATH will do), its volume's
 * root: it is to be found by no client.  Costs nothing for other names.
 */
bool vm_hidden(int dir_fd, const char *name);

/* ---- call.c --------------------------------------------------------------------------------- */

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
	/* BEGIN: done is called as soon as the reply is here, in the middle of any hook, as root.
	 */
	bool at_once;
};

struct vm_call;
typedef void (*vm_done_fn)(struct vm_call *call, int status, void *arg);

/*
 * Asks; done is called once, from the event loop ev, with the request's status, or with -ETIMEDOUT
 * after migrate:hold (the work goes on).  NULL: errno.  FILL, NAME and RANGE are asked for again
 * after -EAGAIN.
 *
 * talloc_free() of the call gives it up: done is not called any more.  A BEGIN that is given up, or
 * not answered in time, is ended without a change should it still be granted.  An END must not be
 * given up for as long as its result matters.
 */
struct vm_call *vm_call_send(TALLOC_CTX *mem_ctx, struct vfs_handle_struct *handle,
			     struct tevent_context *ev, const struct vm_ask *ask, vm_done_fn done,
			     void *arg);
/* Asks and waits for it here, for hooks that cannot be deferred.  begun: for BEGIN, what END needs.
 */
int vm_call_wait(struct vfs_handle_struct *handle, const struct vm_ask *ask, uint64_t *begun);
/* For END, of a BEGIN that was done with status 0. */
uint64_t vm_call_begun(const struct vm_call *call);

/* The volume goes: what has no answer yet has -ECANCELED. */
void vm_calls_end(struct vm_volume *volume);

/* After a deferral: to act for the client that has fsp open. */
bool vm_become_user(struct files_struct *fsp);

/* ---- object.c ------------------------------------------------------------------------------- */

/*
 * The state of what fsp has open, of the base file for a stream: 1 unfinished, 0 normal, or -errno
 * (-EBADMSG for a damaged record).  Looks at the record unless a file is known to be normal (I1).
 * migrate_stub_clear(stub) afterwards unless it returned 0.
 */
int vm_look(struct vfs_handle_struct *handle, struct files_struct *fsp, struct migrate_stub *stub);
/* The same for who does not need the stub, and takes a stream for whole. */
int vm_is_unfinished(struct vfs_handle_struct *handle, struct files_struct *fsp);
/* The same for a descriptor, without remembering. */
int vm_look_fd(int fd, struct migrate_stub *stub);
/* Whether the data behind fsp is known to be whole.  Costs nothing.  A stream's always is. */
bool vm_known_normal(struct vfs_handle_struct *handle, struct files_struct *fsp);
/*
 * The descriptor of what fsp has open, of the base file for a stream; O_PATH or not.  That of the
 * working directory (conn->cwd_fsp) is AT_FDCWD, which all functions here take, and no others.
 */
int vm_fd(const struct files_struct *fsp);
/* A copy, of AT_FDCWD with O_PATH, or -errno. */
int vm_dup(int fd);
/* Notes the state of what was opened as fd, for fsp. */
void vm_remember(struct vfs_handle_struct *handle, struct files_struct *fsp, int fd,
		 enum migrate_state state);
/* Whether all names are known to be in the directory.  Costs nothing. */
bool vm_known_filled(struct vfs_handle_struct *handle, const struct files_struct *dirfsp);
/* 1: all names are in the open directory, for ever.  0: not all.  Or -errno. */
int vm_filled(struct vfs_handle_struct *handle, struct files_struct *dirfsp);
/* Returns when they are: 0 or -errno.  Waits. */
int vm_fill(struct vfs_handle_struct *handle, struct files_struct *dirfsp);

/* ---- lookup.c ------------------------------------------------------------------------------- */

/*
 * Brings every component of path, relative to dir_fd, with its attributes, and what symbolic links
 * on the way lead to; with follow also what the last component does.  0; -ENOENT, also for the
 * private directory; -ELOOP; -errno.  Waits.  With the caller's permissions.
 */
int vm_bring(struct vfs_handle_struct *handle, int dir_fd, const char *path, bool follow);

/* What readdir says of an entry beside its name: made invalid where it cannot tell, also of a link
 * that the client does not see as one. */
void vm_stat_entry(struct vfs_handle_struct *handle, struct files_struct *dirfsp, char *name,
		   SMB_STRUCT_STAT *sbuf);

/* ---- bracket.c ------------------------------------------------------------------------------ */

/* A change to an unfinished object, made between BEGIN and END in a hook that cannot be deferred.
 */
struct vm_change {
	enum migrate_change kind;
	uint64_t offset, length;
	bool place; /* PLACE: dir_fd is the directory that gets the name, and is held */
	int dir_fd;
	bool durable;
	/* Makes the change, as a hook does: 0, or -1 with errno.  Called again when the retriever
	 * went away before it knew, unless once is set: then only the bracket is made again. */
	int (*make)(void *arg);
	void *arg;
	bool once;
};

/*
 * Waits for the retriever, which waits for no old server.  make's result, or -1 with errno and
 * nothing was changed.  Within make a bracket of the same object is none: its make is called.
 */
int vm_bracket(struct vfs_handle_struct *handle, int fd, const struct vm_change *change);
/* Whether the object has one open, that is, whether a hook calls within another. */
bool vm_in_bracket(int fd);
/* Looks, and makes the change in a bracket if the object (the base file of a stream) is unfinished,
 * else just so. */
int vm_change(struct vfs_handle_struct *handle, struct files_struct *fsp,
	      const struct vm_change *change);
/* migrate_hold(), for a time in which replies are taken: a descriptor to close, or -errno. */
int vm_hold(struct vfs_handle_struct *handle, int dir_fd, enum migrate_hold hold);

/* ---- attrs.c -------------------------------------------------------------------------------- */

/*
 * Corrects what the inode says by what its record said before (looked, stub: of vm_look() or
 * vm_look_fd(), called before the inode was asked): the times, the space, an unfilled directory's
 * links.  stream: st is that of a stream of the file.
 */
void vm_show(int looked, const struct migrate_stub *stub, bool stream, SMB_STRUCT_STAT *st);
/* setters.c: fset_dos_attributes, in a bracket. */
NTSTATUS vm_set_dos_attributes(struct vfs_handle_struct *handle, struct files_struct *fsp,
			       uint32_t attributes);

#endif
