/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Which file system something is on, as a number that may be kept on disk: the same after a reboot,
 * on another node, and in a snapshot of its device.
 *
 * It is statfs' f_fsid where that is made of the UUID (ext4, btrfs, ZFS) ...  Others, XFS among
 * them, make it of the device's number, which another boot may give to another device: there it is
 * made of the UUID here.
 */
#ifndef COMMON_FS_ID_H
#define COMMON_FS_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* fd: not O_PATH.  0: nothing tells. */
uint64_t migrate_fs_id(int fd);
/* What was kept is id, which migrate_fs_id() says now; or what an earlier release kept where that
 * is not f_fsid: a device's number, which says nothing. */
bool migrate_fs_id_is(uint64_t kept, uint64_t id);

/*
 * Tells what fd is on, whose device is dev, from other file systems of this machine.  fd may be
 * O_PATH.  It is dev; but of btrfs, whose subvolumes get devices in the order of their use, it is
 * f_fsid, which has the subvolume's number.
 */
uint64_t migrate_fs_number(int fd, dev_t dev);

#endif
