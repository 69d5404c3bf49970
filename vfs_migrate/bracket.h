/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes changes to unfinished objects in brackets. */
#ifndef VFS_MIGRATE_BRACKET_H
#define VFS_MIGRATE_BRACKET_H

#include "vfs_migrate/volume.h"

/* A change to an unfinished object, made between BEGIN and END in a hook that cannot be deferred.
 */
struct vm_change {
	enum migrate_change kind;
	uint64_t offset, length;
	bool place; /* PLACE: dir_fd is the directory that gets the name; it is held */
	int dir_fd;
	bool durable;
	/* Makes the change, as a hook does: 0, or -1 with errno. */
	int (*make)(void *arg);
	void *arg;
	bool once; /* of struct migrate_bracket */
};

/*
 * Makes the change in a bracket.  Waits for the retriever, which does not wait for the old server
 * here.  make's result; or -1 with errno, and nothing was changed.  Within make, vm_bracket() on
 * the same object opens no second bracket: it only calls its make.
 */
int vm_bracket(struct vfs_handle_struct *handle, int fd, const struct vm_change *change);
/* Whether a bracket of the object is open, that is, whether a hook runs within another. */
bool vm_in_bracket(int fd);
/* Looks at the object (of a stream, its base file), and makes the change in a bracket if the object
 * is unfinished, else without one. */
int vm_change(struct vfs_handle_struct *handle, struct files_struct *fsp,
	      const struct vm_change *change);
/* migrate_lock_directory(), which takes replies while it waits: a descriptor to close, or
 * -errno. */
int vm_hold(struct vfs_handle_struct *handle, int dir_fd, enum migrate_lock_directory hold);

#endif
