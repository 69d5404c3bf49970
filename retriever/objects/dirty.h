/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes again what clients wrote and what an earlier retriever, or an earlier descriptor of this
 * retriever, has not made durable.  The kernel reports a failed write-back to the descriptors that
 * were open then, and treats the pages as written: the next fdatasync on a new descriptor reports
 * nothing.  So the pages that are still in the page cache have to be written once more, and then
 * the new descriptor gets any error.  A page that the kernel has dropped is a hole, and its bytes
 * are lost.  Where clients make holes (object_may_have_holes()) such a hole cannot be told from a
 * client's.
 *
 * Where the file system does not tell holes (capabilities.h) a dropped page would be zeros.  There
 * a client's bytes are durable before END is answered (bracket.h), and what is found dirty was
 * promised to nobody: it is missing again, and listed, because a volume may have been here when
 * holes were told.
 */
#ifndef RETRIEVER_OBJECTS_DIRTY_H
#define RETRIEVER_OBJECTS_DIRTY_H

#include "common/record.h"

/* fd: O_RDWR.  Marks the pages of these ranges that are there as not written, and adds to *lost the
 * parts that are not there.  0 or -errno. */
int dirty_write_again(int fd, const struct migrate_extents *dirty, struct migrate_extents *lost);

#endif
