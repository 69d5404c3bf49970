/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The volume's root, and .migrate/, the retriever's private directory in it.  One retriever per
 * volume holds the lock on them.
 */
#ifndef RETRIEVER_OBJECTS_PRIVATE_H
#define RETRIEVER_OBJECTS_PRIVATE_H

#include "retriever/objects/retriever.h"

/*
 * Opens the root, and .migrate/ where there is one: root_fd, root_key, private_fd.  A volume whose
 * .migrate/ was lost gets it anew: its handles are found again by path.  FALSE with error set: one
 * line.
 */
bool private_open_root(struct retriever *retriever, GError **error);
/* Opens .migrate/ and its subdirectories, making them where `create`.  Blocks for the disk.  0;
 * -ENOENT: there is none; -EBUSY: another retriever has it; else -errno. */
int private_open(struct retriever *retriever, bool create);
/*
 * The mode with which .migrate/ is made.  The sticky bit stays set until the root has its record,
 * so that an attach that was cut short can be told from an empty volume that is whole.
 */
#define PRIVATE_ATTACHING 01700
/* An attach has come to its end (private_is_attached()).  0 or -errno.  The root does not lose its
 * record before this has succeeded. */
int private_set_attached(struct retriever *retriever);
/* Whether .migrate/ is there, and an attach came to its end. */
bool private_is_attached(const struct retriever *retriever);
/* Whether the root's path leads to another directory than root_fd now: root_fd was opened before
 * the file system was mounted there. */
bool private_root_is_replaced(const struct retriever *retriever);
/* Called when the volume is finished and nothing writes to .migrate/ any more: code that still uses
 * the descriptors finds removed directories. */
void private_leave(struct retriever *retriever);
/* .migrate/copy/: a copy that is made before the volume is attached, with a private directory of
 * its own.  Where there is one private_open_root() opens it in the root's place, and the retriever
 * is `copying`. */
#define COPY_DIR "copy"

/* In .migrate/: migratectl abandon has begun to remove what is here.  Nothing is served then. */
#define PRIVATE_ABANDONED "abandoned"

/* Closes all of it and the root. */
void private_close(struct retriever *retriever);

#endif
