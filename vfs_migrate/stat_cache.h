/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was seen of inodes, so that who opens the same file again and again pays for one fstat.
 *
 * Whatever happens to a record changes the inode's ctime, and so does making another object with
 * the number of one that was removed.  So what a record said holds for as long as the inode has the
 * ctime that it had before the record was looked at.  It is kept only if that was a while ago: what
 * happens in one tick of the kernel's clock has one ctime.  And only what is whole, and of filled
 * directories: other records change all the time.
 */
#ifndef VFS_MIGRATE_STAT_CACHE_H
#define VFS_MIGRATE_STAT_CACHE_H

#include "vfs_migrate/door.h"

/*
 * migrate_stub_load(), which is not called where its result is known: 1 unfinished, 0 normal, or
 * -errno.  *directory: what is open.  migrate_stub_clear(stub) afterwards if it returned 1.
 */
int vm_stat_cache_load(int fd, struct migrate_stub *stub, bool *directory);

#endif
