/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells whether an object that was copied before is the version that the old server lists now.
 *
 * When an object of a copy that migratectl makes is whole and durable, it gets a mark: the extended
 * attribute security.migrate.copied with the fileid and the ctime of the old server's object.
 * Together with the size and mtime of the object itself, the mark identifies one version: a file
 * that is rewritten with the same size and mtime has another ctime.  The mark takes no block of its
 * own in inodes of 256 bytes, and is removed when the object comes to its place after the switch.
 *
 * Layout, little-endian: u8 version (1; 2: unsettled), u64 fileid, i64 ctime in ns, then the
 * inode's binding as in record.h (I9).  A damaged mark does not count, nor does a mark that was
 * copied to another inode.
 *
 * Samba gives the mtime as ctime.  Then the mark holds mtime and fileid only, and an object that
 * has both counts as alike: its attributes may differ, and its content is compared where that is
 * configured.
 *
 * An object may be read so soon after a change that the old server could change it once more
 * without another ctime (lib/source/server_clock.h).  Such an object gets its mark when it is made,
 * and the mark says "unsettled": the next run, or the switch, makes the object anew.
 *
 * The object's extended attributes may leave no room for the mark, or not for the mark beside the
 * record: so the mark is removed before the record is stored, and set after the record is removed,
 * if there is room.  A directory without a mark gets its attributes anew, by the next run and at
 * the switch; an object that is neither file nor directory is made anew.
 *
 * A tree that another tool made has no marks.  There a file is the same version if it has the same
 * size and mtime (mtime as precise as that tool kept it), a symbolic link if it has the same text,
 * and a device if it has the same numbers.
 * A file that has a void stub record is none: such a tool has copied a stub past the doors.
 */
#ifndef RETRIEVER_COPIES_COPY_MARK_H
#define RETRIEVER_COPIES_COPY_MARK_H

#include "retriever/objects/retriever.h"

struct stat;

#define XATTR_LISTED "security.migrate.listed" /* of a copy's directory (listing_sum.h) */

/* fd: not O_PATH.  0 or -errno. */
int copy_mark_set(int fd, const struct source_attr *attr);
/* The same for a directory, which can be compared without a mark. */
int copy_mark_set_if_room(int fd, const struct source_attr *attr);
/* The same for a name, which is not followed; 0 also where there is no room for the mark. */
int copy_mark_set_name(int dir_fd, const char *name, const struct source_attr *attr);
/* Sets the mark of an object that has become whole, unless it got one when it was made. */
int copy_mark_set_bound(int fd, const struct migrate_binding *binding, uint64_t fileid,
			int64_t ctime);
/* 0, also where there is none, or -errno. */
int copy_mark_remove(int fd);
int copy_mark_remove_name(int dir_fd, const char *name);
/* 1: fd has a mark, and both are set from it; 0: it has none. */
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
 * Compares name in dir_fd with what the old server lists.  adopted: another tool made the object.
 * *st: that of the object, unless the result is COPY_NOTHING.  A directory is COPY_ALIKE, or
 * COPY_SAME with the mark of this ctime.  fd: NULL, or *fd is a descriptor open for reading if the
 * object is a file and at least COPY_ALIKE, which the caller closes; else -1.  Blocks for the disk.
 * -errno: the object cannot be looked at.
 */
int copy_mark_compare(int dir_fd, const char *name, const struct source_attr *attr, bool adopted,
		      struct stat *st, int *fd);

#endif
