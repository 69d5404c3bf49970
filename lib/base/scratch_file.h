/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LIB_BASE_SCRATCH_FILE_H
#define LIB_BASE_SCRATCH_FILE_H

/*
 * A file without a name, on the directory's file system, O_RDWR, for its owner: it is gone with the
 * descriptor.  Where there is no O_TMPFILE it has a name in dir_fd for a moment, and a crash may
 * leave that: SCRATCH_PREFIX and a number.  The descriptor, or -1 with errno.  Any thread; blocks
 * for the disk.
 */
int scratch_file(int dir_fd);

#define SCRATCH_PREFIX ".migrate-scratch-"

#endif
