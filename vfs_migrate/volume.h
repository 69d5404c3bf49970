/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes, and the tree connects (connections of a client to a share) that use them. */
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
	bool connected, refused, unregistered; /* as the log was told */
	bool registered;
	bool late;		       /* a wait was in vain since the event loop was left */
	struct tevent_immediate *turn; /* resets `late` */
	/* For call.c: calls without an answer; close_calls answers them when the volume goes. */
	struct vm_call *calls;
	void (*close_calls)(struct vm_volume *volume);
};

/* One tree connect: handle->data. */
struct vm_share {
	struct vm_volume *volume;
	struct tevent_context *ev;
	unsigned hold_ms; /* how long a request waits before it fails */
	bool recall; /* shows FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS of files that are not whole */
	bool unattached;  /* when it was connected: a normal directory may become unfilled */
	bool overwriting; /* in an open that overwrites the file: OFFLINE is not shown */
};

static inline struct vm_share *vm_share(const struct vfs_handle_struct *handle)
{
	return handle->data;
}

/* The volume of that name and socket, connected to its retriever if there is one.  NULL: errno. */
struct vm_volume *vm_volume_get(struct tevent_context *ev, const char *name, const char *socket);
/*
 * Registers this smbd, which serves one client, with the guard, and gives it mounts of its own:
 * before anything that is unfinished is opened.  In the log where it fails.
 */
void vm_volume_register(struct vm_volume *volume);
/* The last put closes the connection and completes all requests with -ECANCELED. */
void vm_volume_put(struct vm_volume *volume);
/* Takes what the retriever sends, for up to timeout_ms, as root: the retriever accepts no other
 * user. */
void vm_volume_dispatch(struct vm_volume *volume, int timeout_ms);
/*
 * Inspects the share's directory.  VM_NOT_ATTACHED: the directory is empty, and nothing shows that
 * it is in a volume; VM_FINISHED: nothing at or below it is unfinished, for ever; VM_MIGRATING:
 * anything there may be unfinished.  -EBADMSG: a record there or above is damaged; -EIO, -errno.
 */
enum { VM_MIGRATING, VM_FINISHED, VM_NOT_ATTACHED };
int vm_volume_inspect(struct vm_volume *volume, const char *path);
/*
 * Whether name is the private directory in dir_fd (O_PATH will do), if that is its volume's root:
 * no client is to find it.  Costs nothing for other names.
 */
bool vm_hidden(int dir_fd, const char *name);

#endif
