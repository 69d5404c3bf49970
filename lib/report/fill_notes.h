/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the retriever notes of files when they become whole: .migrate/fills, which has 16 bytes for
 * each inode number, the inode's ctime and the old server's fileid.  As long as an inode has that
 * ctime, nobody has changed its bytes since it became whole, and before that no client had: so such
 * a file need not be read to find out whether it was changed while no program watched.
 *
 * A note is never wrong, but may be absent.  A note that is lost, in a power cut for example, costs
 * one comparison of both files.  A note that is on disk before the record's end is durable has a
 * ctime that the inode does not have after the power cut.
 *
 * What cannot be told: a client that changes bytes and sets their time back in the tick of the
 * file system's clock (4 ms) in which the file became whole.
 */
#ifndef LIB_REPORT_FILL_NOTES_H
#define LIB_REPORT_FILL_NOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define FILL_NOTES_FILE "fills"

/* Notes a file whose record was dropped just now, after its mtime had been set (ns).  Does nothing
 * if the note cannot be written, or the file was changed since. */
void fill_notes_add(int private_fd, int fd, uint64_t fileid, int64_t mtime);
/* Whether st, of an object in the tree of root_fd, is what was noted for that fileid. */
bool fill_notes_has(int root_fd, const struct stat *st, uint64_t fileid);

#endif
