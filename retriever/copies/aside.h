/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets objects of a copy aside: moves them to .migrate/aside/, which is on the volume's file system
 * and never served.
 *
 * A copy may hold an object that the old server does not list (any more), or a version that is
 * newer than the old server's.  One listing is not reason enough to destroy such an object: it is
 * moved to aside/ under the path that it had, and stays there until the administrator restores or
 * discards it.  If that path is taken in aside/ already, ".~N~" is appended.
 */
#ifndef RETRIEVER_COPIES_ASIDE_H
#define RETRIEVER_COPIES_ASIDE_H

#include "retriever/objects/retriever.h"

#define ASIDE_DIR "aside"

/*
 * Moves name in dir_fd to aside/PATH/AS, and counts it.  path: of the directory below the volume's
 * root, "" for the root; NULL, where it is not known, is as "".  A stub has no content, so it is
 * removed instead.  Blocks for the disk.  0 or -errno.
 */
int aside_put(struct retriever *retriever, int dir_fd, const char *name, const char *path,
	      const char *as);

/* The same for an object that is left over from the directory dir_fd of the tree, under its own
 * name.  If that fails, the name is put into the list of errors.  from_fd: the directory that the
 * object is in now. */
int aside_put_left(struct retriever *retriever, int dir_fd, int from_fd, const char *name,
		   const char *path);

/* Called for each object in aside/ that is no directory, and for each empty directory.  path: below
 * aside/.  Returns FALSE to end the walk. */
typedef bool (*aside_fn)(void *arg, const char *path, const struct stat *st);
/* In no order.  0 or -errno.  Blocks for the disk. */
int aside_walk(struct retriever *retriever, aside_fn fn, void *arg);

/* Counts anew the objects in aside/ and their bytes. */
int aside_count(struct retriever *retriever);

/*
 * Moves the object at path below aside/ back to its path below the volume's root, without its
 * marks.  Another process than the retriever makes the move, so that the journal takes it for a
 * change, which the way back carries.  path: as it is, or as it is listed (text_line()).  -EEXIST:
 * the name is there; -ENOENT: its directory is not there, or no object of that path is set aside;
 * -EBUSY: its directory is not compared yet; -ENODATA: a file in it was not fetched to its end;
 * -EINVAL: the path is not valid.
 */
int aside_restore(struct retriever *retriever, const char *path);
/* Destroys all of it.  0 or -errno. */
int aside_discard(struct retriever *retriever);

#endif
