/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mark of a file that is being mended (mend.h): the extended attribute
 * security.migrate.mending, with the file's own kernel handle and the handle of the copy of its
 * former content in .migrate/aside/.  A mark that was copied to another inode does not count (I9).
 * While a file has a mark, its times say nothing about clients.
 */
#ifndef RETRIEVER_COMPARE_MEND_MARK_H
#define RETRIEVER_COMPARE_MEND_MARK_H

#include "common/record.h"

/* fd: not O_PATH.  0 or -errno; durable after. */
int mend_mark(int fd, const struct migrate_binding *aside);
int mend_unmark(int fd);
/* Whether fd has a mark; aside: NULL, or set to the copy's handle.  False for an O_PATH descriptor.
 */
bool mend_is_marked(int fd, struct migrate_binding *aside);

#endif
