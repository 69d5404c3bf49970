/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making right what a comparison has found: one object is compared again, and gets the old server's
 * bytes and attributes, unless clients have changed it.
 *
 * Bytes are written into the same inode, because clients know it by its handle, and only those that
 * differ.  They are fetched before; then nobody may have the file open (a lease, lease.h): who
 * opens it meanwhile waits until it is done, for as long as writing locally takes, or until the
 * kernel lets him in (fs.lease-break-time, 45 s).  So before each piece it is seen that nobody
 * waits, or not for half of that time yet; else no more is written, as after a kill.  A piece that
 * takes the other half is said to have been too late.
 *
 * Killed anywhere: the copy of the former content is durable in aside/ before the mark, and the
 * mark before the first byte.  What is found with a mark has at each place the old server's byte or
 * the former one; then it is gone on with, as a mending that begins anew.  Any other byte is a
 * client's, who came after the kill: then nothing is written any more.  The mark goes when all is
 * durable.
 */
#ifndef RETRIEVER_COMPARE_MEND_H
#define RETRIEVER_COMPARE_MEND_H

#include "retriever/compare/compare.h"

/*
 * path: below the root.  0: it is as on the old server now; -EPERM: clients have changed it;
 * -EBUSY: somebody has it open, or it is not here yet; else -errno.  *text: one line that says what
 * was done or why not (g_free).  Waits for the old server and the disk.
 */
int mend_path(struct retriever *retriever, const char *path, char **text);

#endif
