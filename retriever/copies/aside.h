/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is set aside: .migrate/aside/, on the volume's file system and never served.
 *
 * A copy holds what the old server does not list (any more), or holds it newer than the old server
 * does.  Nobody destroys that on the word of one listing: it is moved to aside/ under the path that
 * it had, and stays there until the administrator restores or discards it.  Where something of that
 * path is there already, ".~N~" is appended.
 */
#ifndef RETRIEVER_COPIES_ASIDE_H
#define RETRIEVER_COPIES_ASIDE_H

#include "retriever/objects/retriever.h"

#define ASIDE_DIR "aside"

/*
 * Moves name in dir_fd to aside/PATH/AS; path: below the volume's root, "" for the root, NULL: not
 * known, as the root.  Counts it.  A stub is not worth that and is removed.  Blocks for the disk.
 * 0 or -errno.
 */
int aside_put(struct retriever *retriever, int dir_fd, const char *name, const char *path,
	      const char *as);

/* Likewise of what is left over in the directory dir_fd of the tree, under its own name: where that
 * fails, the name is in the list of errors. from_fd: where it is now. */
int aside_put_left(struct retriever *retriever, int dir_fd, int from_fd, const char *name,
		   const char *path);

/* Called for everything in aside/ that is no directory, and for each empty directory.  path: below
 * aside/.  Returns FALSE to end the walk. */
typedef bool (*aside_fn)(void *arg, const char *path, const struct stat *st);
/* In no order.  0 or -errno.  Blocks for the disk. */
int aside_walk(struct retriever *retriever, aside_fn fn, void *arg);

/* Counts anew what is there. */
int aside_count(struct retriever *retriever);

/*
 * Moves what is at path below aside/ back to its path below the volume's root, without its marks,
 * and as another process than the retriever: to the journal it is a change, which is carried back.
 * path: as it is, or as it is listed (text_line()).
 * -EEXIST: the name is there; -ENOENT: its directory is not, or it is not set aside; -EBUSY: its
 * directory is not compared yet; -ENODATA: something in it was not fetched to its end; -EINVAL: no
 * such path can be.
 */
int aside_restore(struct retriever *retriever, const char *path);
/* Destroys all of it.  0 or -errno. */
int aside_discard(struct retriever *retriever);

#endif
