/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds objects that a walk through the volume may miss, because a program moves them meanwhile to
 * where the walk has been.  The kernel reports all names of the file system that come and go
 * (fanotify; Linux 5.17, for a subvolume of btrfs 6.8).
 *
 * The kernel reports an operation before it releases the lock of the directory that the operation
 * changes, and reading a directory to its end takes that lock.  So when a walk finds that a name is
 * gone, the kernel has already reported where the name came.  A link operation does not lock the
 * directory of the object's other name: so for a name that goes, its object is looked at, too.
 */
#ifndef RETRIEVER_VOLUME_MOVE_WATCH_H
#define RETRIEVER_VOLUME_MOVE_WATCH_H

#include "retriever/objects/retriever.h"

struct move_watch;

/* Watches from its return on.  0 or -errno. */
int move_watch_start(struct retriever *retriever, struct move_watch **out);
void move_watch_free(struct move_watch *moved);

/*
 * Looks at all objects that were moved until now.  Appends the directories (struct migrate_binding)
 * that were moved within or into the volume, so that the walk visits them; it does not while the
 * list has other directories, which come first.  *escaped: set if an unfinished object, or an
 * object that is not known, came where the walk may have been; else not changed.  Blocks for the
 * disk.  0 or -errno.
 */
int move_watch_take(struct move_watch *moved, GArray *directories, bool *escaped);

#endif
