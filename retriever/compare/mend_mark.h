/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mark of a file that is being mended (mend.h): the extended attribute
 * security.migrate.mending, with the file's own kernel handle and that of the copy of its former
 * content in .migrate/aside/. A mark that was copied to another inode is none (I9).  While there is
 * one, the file's times are no client's.
 */
#ifndef RETRIEVER_COMPARE_MEND_MARK_H
#define RETRIEVER_COMPARE_MEND_MARK_H

#include "common/record.h"

/* fd: not O_PATH.  0 or -errno; durable after. */
int mend_mark(int fd, const struct migrate_binding *aside);
int mend_unmark(int fd);
/* Whether fd has one; aside: NULL, or the copy.  Of an O_PATH one it has none. */
bool mend_is_marked(int fd, struct migrate_binding *aside);

#endif
