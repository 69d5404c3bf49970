/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Telling what was copied before from what the old server lists now.
 *
 * A copy that we make leaves a mark on each of its objects when it is whole and durable: the
 * extended attribute security.migrate.copied with the fileid and the ctime that the old server's
 * object had.  With size and mtime, which the object has itself, they name one version of it: a
 * file that is rewritten with the same size and mtime has another ctime.  The mark takes no block
 * of its own in inodes of 256 bytes, and goes when the object comes to its place after the switch.
 *
 * Layout, little-endian: u8 version (1; 2: unsettled), u64 fileid, i64 ctime in ns, then the
 * inode's binding as in record.h (I9).  A damaged mark, and one that was copied to another inode,
 * is none.
 *
 * Samba tells mtime for ctime.  Then the mark says of mtime and fileid only, and an object that has
 * them is alike: its attributes may be others, and where content is to be compared it is.
 *
 * An object that was read while the old server could have changed it once more without another
 * ctime (source/server_clock.h) gets its mark when it is made, and one that says so: it is no more
 * than unsettled, and is made anew by the next run, or at the switch.
 *
 * Attributes may leave no room for the mark, or not beside the record: it goes before the record is
 * stored, and comes after that is removed, if it can.  A directory without one gets its attributes
 * anew, by the next run and at the switch; what is neither file nor directory is made anew.
 *
 * A tree that another tool made has no marks.  There a file is the same when size and mtime are,
 * the mtime as fine as the tool kept it; a symbolic link when its text is; a device when its
 * numbers are.
 */
#ifndef RETRIEVER_COPIES_COPY_MARK_H
#define RETRIEVER_COPIES_COPY_MARK_H

#include "retriever/objects/retriever.h"

struct stat;

#define XATTR_LISTED "security.migrate.listed" /* of a copy's directory (listing_sum.h) */

/* fd: not O_PATH.  0 or -errno. */
int copy_mark_set(int fd, const struct source_attr *attr);
/* Of a directory, which is compared without one. */
int copy_mark_set_if_room(int fd, const struct source_attr *attr);
/* The same for a name, which is not followed; 0, too, where there is no room for it. */
int copy_mark_set_name(int dir_fd, const char *name, const struct source_attr *attr);
/* It is whole: its mark, unless it got one when it was made. */
int copy_mark_set_bound(int fd, const struct migrate_binding *binding, uint64_t fileid,
			int64_t ctime);
/* 0, also where there is none, or -errno. */
int copy_mark_remove(int fd);
int copy_mark_remove_name(int dir_fd, const char *name);
/* Whether fd has a mark: 1 and both filled, 0. */
int copy_mark_get(int fd, uint64_t *fileid, int64_t *ctime);

enum copy_state {
	COPY_NOTHING,	 /* nothing is there */
	COPY_OTHER,	 /* something else, or another version, or not known */
	COPY_UNSETTLED,	 /* this version by its times, which are not fine enough to say so */
	COPY_ALIKE,	 /* type, size and mtime are the same; its attributes may not be */
	COPY_SAME,	 /* this version, with its attributes */
	COPY_UNFINISHED, /* a stub of this version */
};

/*
 * What name in dir_fd is beside what the old server lists.  adopted: another tool made it.  st: of
 * it, unless it is COPY_NOTHING.  A directory is COPY_ALIKE, or COPY_SAME with the mark of
 * this ctime.  fd: NULL, or of a file that is at least COPY_ALIKE *fd is one open for reading,
 * which the caller closes; else -1.  Blocks for the disk.  -errno: it cannot be looked at.
 */
int copy_mark_compare(int dir_fd, const char *name, const struct source_attr *attr, bool adopted,
		      struct stat *st, int *fd);

#endif
