/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * One mount of a ZFS dataset, which has no directory in /sys/fs: OpenZFS makes a kstat for each
 * dataset when it mounts it, /proc/spl/kstat/zfs/POOL/objset-0xID, and removes it with the
 * superblock.  Its first line has a number of a counter and the time since the boot at which it was
 * made.  Measured with 2.3.9: both are new after umount and mount, and after export and import;
 * both stay with a second mount, a bind mount, a remount, a snapshot, a rollback, and a lazy umount
 * of one that is in use.  A snapshot has no kstat.
 *
 * The kstat's name has the dataset's number, which no call tells of a descriptor.  So the dataset's
 * name is taken from mountinfo, by st_dev, and the kstat that says the same name is the one.  A
 * dataset that is renamed while it is mounted keeps its name in the kstat until the next mount, so
 * that none is found, or two.
 */
#ifndef COMMON_ZFS_MOUNT_H
#define COMMON_ZFS_MOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ZFS_SUPER_MAGIC 0x2fc12fc1

struct migrate_zfs_kstat {
	uint64_t made, id; /* ns since the boot; of the counter */
	uint64_t logged;   /* changes that are in its intent log; with OpenZFS from 2.2 on */
	bool counts;	   /* `logged` is known */
};

/*
 * For the file system of this st_dev, which the caller keeps mounted.  proc: "/proc", or a tree
 * like it.  False: not exactly one kstat is known to be its, as in a mount namespace that does not
 * have it, for a snapshot, or without memory.  Any thread; does not wait for the disk.
 */
bool migrate_zfs_kstat(const char *proc, dev_t dev, struct migrate_zfs_kstat *out);

/*
 * Whether the OpenZFS of this file, "/sys/module/zfs/version" or one like it, is known not to call
 * data a hole: 2.2.4 or later (openzfs#15526, openzfs#15933).  Any thread; does not wait for the
 * disk.
 */
bool migrate_zfs_tells_data(const char *version);

#endif
