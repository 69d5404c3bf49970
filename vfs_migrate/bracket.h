/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes to unfinished objects. */
#ifndef VFS_MIGRATE_BRACKET_H
#define VFS_MIGRATE_BRACKET_H

#include "vfs_migrate/volume.h"

/* A change to an unfinished object, made between BEGIN and END in a hook that cannot be deferred.
 */
struct vm_change {
	enum migrate_change kind;
	uint64_t offset, length;
	bool place; /* PLACE: dir_fd is the directory that gets the name, and is held */
	int dir_fd;
	bool durable;
	/* Makes the change, as a hook does: 0, or -1 with errno. */
	int (*make)(void *arg);
	void *arg;
	bool once; /* of struct migrate_bracket */
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
/* migrate_lock_directory(), for a time in which replies are taken: a descriptor to close, or
 * -errno. */
int vm_hold(struct vfs_handle_struct *handle, int dir_fd, enum migrate_lock_directory hold);

#endif
