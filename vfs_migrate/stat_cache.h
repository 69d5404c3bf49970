/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Remembers the states of inodes, so that opening the same file again and again costs one fstat
 * each time.
 *
 * Every change of a record changes the inode's ctime, and a new object that gets the number of a
 * removed one has another ctime.  So a state holds for as long as the inode has the ctime that it
 * had before the record was looked at.  A state is kept only if that ctime was a while ago, as all
 * changes in one tick of the kernel's clock have the same ctime; and only of whole objects and
 * filled directories, as other records change all the time.
 */
#ifndef VFS_MIGRATE_STAT_CACHE_H
#define VFS_MIGRATE_STAT_CACHE_H

#include "vfs_migrate/door.h"

/*
 * As migrate_stub_load(), which is called only if its result is not known: 1 unfinished, 0 normal,
 * or -errno.  *directory: whether a directory is open.  If it returned 1, migrate_stub_clear(stub)
 * afterwards.
 */
int vm_stat_cache_load(int fd, struct migrate_stub *stub, bool *directory);

#endif
