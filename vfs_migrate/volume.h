/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes, and the tree connects of them. */
#ifndef VFS_MIGRATE_VOLUME_H
#define VFS_MIGRATE_VOLUME_H

#include "vfs_migrate/door.h"

/* One volume, shared by the process's tree connects of it. */
struct vm_volume {
	struct vm_volume *prev, *next;
	char *name;
	char *socket; /* "": the default */
	unsigned shares;
	struct migrate_volume *client;
	struct tevent_fd *readable;
	bool connected, refused; /* what the log was told */
	bool late; /* since the event loop was left something was waited for in vain */
	struct tevent_immediate *turn; /* ends that */
	/* Of call.c: what has no answer yet when the volume goes is answered by close_calls. */
	struct vm_call *calls;
	void (*close_calls)(struct vm_volume *volume);
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

#endif
