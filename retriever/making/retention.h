/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that must not be changed on the old server until a date: nobody may write the file, or it
 * is read-only by SMB, and its time of access lies in the future; or, of a local tree, chattr +i.
 *
 * Each is a line of the report, and has a mark (omissions.h) before it can be seen, unless the date
 * is within a day: that may be a reading by a clock that is ahead of this one.  With
 * `retention = immutable` a marked file becomes immutable once nothing is left to be done to it: it
 * is whole, its directory has all names, and there is no provisional name (links.h).  If the date
 * has come by then, retention is over, and it does not.  That is told by the date in its inode only
 * where the mark has the same: a reading may have moved it, and the file system may not hold it.
 *
 * What may crash where.  The flag is set after the file's record was removed, and both are in the
 * same inode, so no crash leaves an unfinished file that is immutable.  If something else does,
 * that file is an error (QM1501) and waits for chattr -i; nothing of it is taken for whole.  The
 * finish of a directory sets it before it removes the directory's record, and is made again as long
 * as that is there.  verify, and so finalize (but not its --dry-run), sets what is not set: what
 * btrfs forgot in a power cut; where directories were whole before `retention` was configured;
 * where a crash has left a provisional name.
 */
#ifndef RETRIEVER_MAKING_RETENTION_H
#define RETRIEVER_MAKING_RETENTION_H

#include "retriever/making/attributes_result.h"

/* Adds the loss, and the mark, if the old server's object is under retention now.  xattrs: NULL
 * where the old server was not asked.  Any thread; does not block. */
void retention_note(const struct volume_config *config, const struct source_attr *attr,
		    const struct source_xattrs *xattrs, struct attributes_result *carried);
/* Makes a whole object immutable, as above; else does nothing.  fd: of name in dir_fd, O_PATH too.
 * Where it cannot be made so, that is a line of the report.  Any thread, no lock; blocks for the
 * disk. */
void retention_keep(struct retriever *retriever, int dir_fd, const char *name, int fd);

#endif
