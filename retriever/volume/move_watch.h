/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a walk through the volume may miss, because it is moved meanwhile to where the walk has
 * been, by whomever: the kernel tells of all names of the file system that come and go (fanotify;
 * Linux 5.17, of a subvolume of btrfs 6.8).
 *
 * It is told of before an operation lets go of the lock of the directory that it changes, and to
 * read a directory to its end takes that lock.  So when a walk has found that a name has gone, the
 * kernel has told where it came.  A link has no lock of the directory that the other name is in:
 * where a name goes, what it was of is looked at, too.
 */
#ifndef RETRIEVER_VOLUME_MOVE_WATCH_H
#define RETRIEVER_VOLUME_MOVE_WATCH_H

#include "retriever/objects/retriever.h"

struct move_watch;

/* Watches from its return on.  0 or -errno. */
int move_watch_start(struct retriever *retriever, struct move_watch **out);
void move_watch_free(struct move_watch *moved);

/*
 * Looks at what was moved until now.  Appends directories (struct migrate_binding) that came to
 * where they are in the volume, to be walked through, unless there are others in the list, which
 * come first.  *escaped: something unfinished, or what is not known, came where the walk may have
 * been; not changed otherwise.  Blocks for the disk.  0 or -errno.
 */
int move_watch_take(struct move_watch *moved, GArray *directories, bool *escaped);

#endif
