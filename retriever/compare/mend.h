/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mends an object for which a comparison has a finding: compares it again, and gives it the old
 * server's bytes and attributes, unless clients have changed it.
 *
 * Only bytes that differ are written, and into the same inode, because clients know it by its
 * handle.  They are fetched before.  Then a lease on the file is taken (lease.h), which fails if
 * another process has the file open.  A process that opens the file meanwhile waits until the
 * mending is done, for as long as the local writes take, or until the kernel lets it in
 * (fs.lease-break-time, 45 s).  So before each piece is written the mending checks that no process
 * waits, or that it has not waited for half of that time yet; else no more is written, and the
 * state is as after a kill.  If a piece takes longer than the other half, the mending reports that
 * it was too late.
 *
 * Killed anywhere: the copy of the former content is durable in aside/ before the mark is set, and
 * the mark is durable before the first byte is written.  If a file with a mark has at each place
 * the old server's byte or the former byte, the mending begins anew.  Any other byte was written by
 * a client after the kill: then nothing more is written.  The mark is removed when everything is
 * durable.
 */
#ifndef RETRIEVER_COMPARE_MEND_H
#define RETRIEVER_COMPARE_MEND_H

#include "retriever/compare/compare.h"

/*
 * path: below the root.  0: the object is as on the old server now; -EPERM: clients have changed
 * it; -EBUSY: a process has it open, or it is not here yet; else -errno.  *text: one line that says
 * what was done, or why it was not (g_free).  Waits for the old server and the disk.
 */
int mend_path(struct retriever *retriever, const char *path, char **text);

#endif
